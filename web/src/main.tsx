// Where the page begins: take the token, put the theme on, draw.
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/conversation.css";
import "./styles/tools.css";
import "./styles/requests.css";
import "./styles/composer.css";
import { render } from "preact";
import { applyTheme } from "./state/preferences";
import { renew } from "./state/push";
import { takeTokenFromAddress } from "./state/token";
import { registerWorker } from "./state/worker";
import { App } from "./ui/app";
import { preloadOverlays } from "./ui/overlays";
import { bindPageKeys } from "./ui/page_keys";

takeTokenFromAddress();
applyTheme();
bindPageKeys();
const root = document.getElementById("page");
if (root) render(<App />, root);
addEventListener("load", () => {
  registerWorker();
  setTimeout(preloadOverlays, 300);
  renew().catch(() => undefined); // the server is away or says no: the page of notifications tells when it is looked at
});

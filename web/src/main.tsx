// Where the page begins: take the token, put the theme on, draw.
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/conversation.css";
import "./styles/tools.css";
import "./styles/requests.css";
import "./styles/composer.css";
import { render } from "preact";
import { applyTheme } from "./state/preferences";
import { takeTokenFromAddress } from "./state/token";
import { App } from "./ui/app";
import { preloadOverlays } from "./ui/overlays";
import { bindPageKeys } from "./ui/page_keys";

takeTokenFromAddress();
applyTheme();
bindPageKeys();
const root = document.getElementById("page");
if (root) render(<App />, root);
addEventListener("load", () => setTimeout(preloadOverlays, 300));

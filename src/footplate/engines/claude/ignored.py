"""The table of lines that mean no event, each with the reason. Whatever is not here becomes an event or `Unparsed`."""

from __future__ import annotations

from typing import Final

IGNORED: Final[dict[str, str]] = {
    "stream_event/message_start": "the turn is open already; its deltas name the message",
    "stream_event/content_block_start": "a text or a thought begins with its first delta",
    "stream_event/content_block_stop": "the assistant line that replaces the deltas came before it",
    "stream_event/message_delta": "the stop reason and the figures of the turn stand in its result",
    "stream_event/message_stop": "the assistant lines of the message came before it",
    "stream_event/ping": "a sign of life of the API",
    "stream_event/signature_delta": "the signature of a thought is of no use outside the CLI",
    "stream_event/citations_delta": "the assistant line carries the text it belongs to",
    "stream_event/late_delta": "its part was replaced by the assistant line already",
    "stream_event/lost_delta": "its message began before we read; the assistant line brings the whole text",
    "system/init": "the turn is open and nothing of the session changed",
    "system/status": "requesting, or nothing that was not known",
    "system/thinking_tokens": "an estimate; the thought itself follows",
    "system/background_tasks_changed": "each task tells its own start and end",
    "system/task_progress": "of a task that is not open",
    "system/task_updated": "of a task that is not open, or nothing that was not known",
    "system/task_started": "of a task that is known",
    "system/task_notification": "of a task that is over",
    "system/ui_invalidate": "for the CLI's own screen",
    "system/control_request_progress": "the answer follows in its control_response",
    "command_lifecycle": "queued and completed; what was started is named by its turn, as is what was cut short",
    "conversation_reset": "the next init has the new session id, which is announced",
    "rate_limit_event": "the limit is as clear as it was before",
    "tool_progress": "of a call that is not open",
    "keep_alive": "a sign of life",
    "prompt_suggestion": "declared, never seen: a proposal for the person's next prompt",
    "active_goal": "declared, never seen",
    "assistant/empty": "no content",
    "user/empty": "no content",
    "user/repeat": "a prompt that was taken up before, sent twice",
    "control_response": "the answer to a request of ours, for the conversation",
    "control_request/hook_callback": "for the conversation: a hook that we registered",
    "control_request/mcp_message": "for the conversation: a server inside our process",
    "control_request/can_use_tool": "asked before under the same id",
    "control_cancel_request": "of a request that is not open",
    "session_id_mismatch": "of another conversation than the one that was asked for; the process is ended",
}

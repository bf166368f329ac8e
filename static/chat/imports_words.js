// Plain words for what imports call by name.

import { gettext, interpolate } from "./i18n.js";

const NAMES = {
  chatgpt: gettext("ChatGPT export (the archive, or conversations.json)"),
  claude: gettext("Claude export (the archive, or its JSON files)"),
  deepseek: gettext("DeepSeek export (the archive, or conversations.json)"),
  mem0: gettext("mem0 memories (JSON)"),
  letta: gettext("Letta agent file, blocks or passages"),
  zep: gettext("Zep or Graphiti facts and sessions (JSON)"),
  plain: gettext("JSON lines with messages or memories"),
  jiyi: gettext("Export of everything from Jiyi"),
};

const REASONS = {
  hidden: gettext("Hidden by the service, such as its instructions"),
  tool: gettext("Use of tools"),
  thinking: gettext("Reasoning of the model"),
  attachment: gettext("Images, recordings and files"),
  other_branch: gettext("Versions that were edited or answered again"),
  empty: gettext("Without text"),
  deleted: gettext("Deleted at the source"),
  assistant: gettext("About the assistant, not about you"),
  other_person: gettext("Of another person"),
  relation: gettext("Parts of a graph without a statement"),
  unsupported: gettext("Neither conversations nor memories"),
  malformed: gettext("Not valid"),
  already_imported: gettext("Imported before"),
  known: gettext("Known already"),
  key_taken: gettext("You have another value for this"),
  forgotten: gettext("You deleted this here"),
  cancelled: gettext("Cancelled"),
  failed: gettext("Not valid"),
};

// The server's sentences about files, for which it has no codes of their own.
const PROBLEMS = {
  "This file is none of the formats that can be imported.": gettext("This file is none of the formats that can be imported."),
  "The file breaks off in the middle.": gettext("The file breaks off in the middle."),
  "The file is not valid JSON.": gettext("The file is not valid JSON."),
  "The file is no text in UTF-8, UTF-16 or GB 18030.": gettext("The file is no text in UTF-8, UTF-16 or GB 18030."),
  "The archive is damaged.": gettext("The archive is damaged."),
  "The file is damaged or protected by a password.": gettext("The file is damaged or protected by a password."),
  "The file holds nothing but blanks for too long.": gettext("The file holds nothing but blanks for too long."),
  "The file holds too much: unpacked it is over 2 GiB, or 100 times as large.": gettext("The file holds too much: unpacked it is over 2 GiB, or 100 times as large."),
  "Another file is being previewed. Try again when that is done.": gettext("Another file is being previewed. Try again when that is done."),
  "There is nothing in this file that can be imported.": gettext("There is nothing in this file that can be imported."),
  "This file is one page of several. Export the other pages, too, and import each of them.": gettext(
    "This file is one page of several. Export the other pages, too, and import each of them.",
  ),
  "This is only the list of the files of a Claude export. Download the archives that it names, and import those.": gettext(
    "This is only the list of the files of a Claude export. Download the archives that it names, and import those.",
  ),
  "This is the activity of Gemini from Google Takeout, which cannot be read yet. Write it as JSON lines instead.": gettext(
    "This is the activity of Gemini from Google Takeout, which cannot be read yet. Write it as JSON lines instead.",
  ),
  "This is an export of chats from Open WebUI, which cannot be read yet. Write it as JSON lines instead.": gettext(
    "This is an export of chats from Open WebUI, which cannot be read yet. Write it as JSON lines instead.",
  ),
  "This is a chat of SillyTavern, which cannot be read yet. Write it as JSON lines instead.": gettext(
    "This is a chat of SillyTavern, which cannot be read yet. Write it as JSON lines instead.",
  ),
};
const TOO_LARGE = /^The file is larger than (\d+) MiB\.$/;

/** Every format that can be imported. */
export const FORMATS = Object.keys(NAMES);

const SHORT_NAMES = {
  chatgpt: "ChatGPT",
  claude: "Claude",
  deepseek: "DeepSeek",
  mem0: "mem0",
  letta: "Letta",
  zep: "Zep",
  plain: gettext("JSON lines"),
  jiyi: "Jiyi 记忆",
};

export const shortName = (format) => SHORT_NAMES[format] ?? format;
export const formatName = (format) => NAMES[format] ?? format;
export const reasonLabel = (reason) => REASONS[reason] ?? reason;

export function sayProblem(message) {
  const limit = TOO_LARGE.exec(message)?.[1];
  return limit ? interpolate(gettext("The file is larger than %s MiB."), [limit]) : (PROBLEMS[message] ?? message);
}

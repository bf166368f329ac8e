// Plain words for what imports call by name.

import { byId } from "./dom.js";
import { gettext, interpolate } from "./i18n.js";

/** The formats that can be imported: `{name, label, description}`, in the order in which they are shown. */
export const FORMATS = JSON.parse(byId("import-formats").textContent);

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
  secret: gettext("Looks like a password, a key or another secret"),
  key_taken: gettext("You have another value for this"),
  forgotten: gettext("You deleted this here"),
  cancelled: gettext("Cancelled"),
  failed: gettext("Not valid"),
};

// The server's sentences about files, for which it has no codes of their own.
const PROBLEMS = {
  "This file is not in a format that can be imported.": gettext("This file is not in a format that can be imported."),
  "The file breaks off in the middle.": gettext("The file breaks off in the middle."),
  "The file is not valid JSON.": gettext("The file is not valid JSON."),
  "The file is not text in UTF-8, UTF-16 or GB 18030.": gettext("The file is not text in UTF-8, UTF-16 or GB 18030."),
  "The archive is damaged.": gettext("The archive is damaged."),
  "The file is damaged or protected by a password.": gettext("The file is damaged or protected by a password."),
  "The file has too many blank lines.": gettext("The file has too many blank lines."),
  "Unpacked, the file is over 2 GiB, or over 100 times its size.": gettext("Unpacked, the file is over 2 GiB, or over 100 times its size."),
  "Another file is being previewed. Try again when that is done.": gettext("Another file is being previewed. Try again when that is done."),
  "There is nothing in this file that can be imported.": gettext("There is nothing in this file that can be imported."),
  "This file is one page of several. Export the other pages, too, and import each of them.": gettext(
    "This file is one page of several. Export the other pages, too, and import each of them.",
  ),
  "This is only the list of files of a Claude export. Download the archives that it names, and import those.": gettext(
    "This is only the list of files of a Claude export. Download the archives that it names, and import those.",
  ),
  "This is an export of Character.AI, which cannot be read yet. Convert it to JSON lines instead.": gettext(
    "This is an export of Character.AI, which cannot be read yet. Convert it to JSON lines instead.",
  ),
  "This is a backup of NextChat, which cannot be read yet. Convert it to JSON lines instead.": gettext(
    "This is a backup of NextChat, which cannot be read yet. Convert it to JSON lines instead.",
  ),
  "This is a backup of Cherry Studio, which cannot be read yet. Convert it to JSON lines instead.": gettext(
    "This is a backup of Cherry Studio, which cannot be read yet. Convert it to JSON lines instead.",
  ),
  "This is an export of Microsoft Copilot, which cannot be read yet. Convert it to JSON lines instead.": gettext(
    "This is an export of Microsoft Copilot, which cannot be read yet. Convert it to JSON lines instead.",
  ),
};
const TOO_LARGE = /^The file is larger than (\d+) MiB\.$/;

const find = (format) => FORMATS.find(({ name }) => name === format);

export const shortName = (format) => find(format)?.label ?? format;
export const formatName = (format) => find(format)?.description ?? format;
export const reasonLabel = (reason) => REASONS[reason] ?? reason;

export function sayProblem(message) {
  const limit = TOO_LARGE.exec(message)?.[1];
  return limit ? interpolate(gettext("The file is larger than %s MiB."), [limit]) : (PROBLEMS[message] ?? message);
}

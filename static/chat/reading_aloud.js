// Reading a reply aloud with the voices of the browser, one reply at a time.

import { iconButton } from "./dom.js";
import { gettext } from "./i18n.js";

const HAN = /\p{Script=Han}/gu;
const PART = /[^。！？!?\n]+[。！？!?\n]*/g; // browsers cut off what takes longer than some seconds

let speaking = null; // the button of the reply that is read

/** A button that begins, and ends what it began; null where the browser cannot speak. `getText()`: what is to be read. */
export function readAloudButton(getText) {
  if (!("speechSynthesis" in window)) return null;
  const read = iconButton("speak", gettext("Read aloud"), { "data-action": "read-aloud", "aria-pressed": "false" });
  read.addEventListener("click", () => {
    const isOn = speaking === read;
    stopReading();
    if (!isOn) start(read, getText());
  });
  return read;
}

/** Be silent. */
export function stopReading() {
  speaking?.setAttribute("aria-pressed", "false");
  speaking = null;
  window.speechSynthesis?.cancel();
}

function start(read, text) {
  const parts = (text.match(PART) ?? []).filter((part) => part.trim());
  if (!parts.length) return;
  speaking = read;
  read.setAttribute("aria-pressed", "true");
  parts.forEach((part, index) => {
    const utterance = new SpeechSynthesisUtterance(part);
    utterance.lang = guessLanguage(part);
    if (index === parts.length - 1) utterance.onend = () => speaking === read && stopReading();
    utterance.onerror = () => speaking === read && stopReading();
    speechSynthesis.speak(utterance);
  });
}

/** A voice reads one language: Chinese where the part has more than a few Chinese characters, else the page's own. */
function guessLanguage(part) {
  const share = (part.match(HAN)?.length ?? 0) / part.length;
  if (share > 0.2) return "zh-CN";
  return document.documentElement.lang.startsWith("zh") ? "en-US" : document.documentElement.lang;
}

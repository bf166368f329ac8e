// Light, dark, or as the system has it. theme.js applies the stored choice before the first paint.

import { byId } from "./dom.js";

export function setUpAppearance() {
  const buttons = [...byId("theme").querySelectorAll("button")];
  const root = document.documentElement;
  const show = () => {
    const chosen = root.dataset.theme ?? "system";
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === chosen));
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      if (button.value === "system") delete root.dataset.theme;
      else root.dataset.theme = button.value;
      try {
        if (button.value === "system") localStorage.removeItem("theme");
        else localStorage.setItem("theme", button.value);
      } catch {
        // Storage is blocked: the choice holds until the page is left.
      }
      show();
    });
  }
  show();
}

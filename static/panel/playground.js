// The playground's sliders, and trying again while one turns them. What comes back, htmx puts in its place.

const form = document.getElementById("play");
const result = document.getElementById("play-result");
const DELAY_MS = 350;
const narrow = matchMedia("(max-width: 40rem)");
let waiting;
let asked = false;

const hasMessage = () => form.elements.message.value.trim() !== "";

function tryAgain() {
  clearTimeout(waiting);
  waiting = setTimeout(() => hasMessage() && htmx.trigger(form, "try"), DELAY_MS);
}

function markChanged(control) {
  const value = control.type === "checkbox" ? String(control.checked) : control.value;
  control.closest(".play-control").classList.toggle("play-control--changed", !isSame(value, control.dataset.own));
}

const isSame = (one, other) => one === other || (one !== "" && other !== "" && Number(one) === Number(other));

form.addEventListener("submit", () => (asked = true));

form.addEventListener("input", (event) => {
  const { target } = event;
  if (target.dataset.slides) document.getElementById(target.dataset.slides).value = target.value;
  if (target.id && !target.dataset.slides) {
    const slider = form.querySelector(`[data-slides="${target.id}"]`);
    if (slider) slider.value = target.value;
  }
  const slid = target.dataset.slides ? document.getElementById(target.dataset.slides) : target;
  if (slid.dataset.own !== undefined) markChanged(slid);
  if (target.closest("#play-controls")) tryAgain();
});

form.addEventListener("change", (event) => {
  if (event.target.name === "session" || event.target.name === "topic") tryAgain();
});

form.addEventListener("click", (event) => {
  if (!event.target.closest("[data-reset]")) return;
  for (const control of form.querySelectorAll("[data-own]")) {
    if (control.type === "checkbox") control.checked = control.dataset.own === "true";
    else control.value = control.dataset.own;
    const slider = form.querySelector(`[data-slides="${control.id}"]`);
    if (slider) slider.value = control.dataset.own;
    markChanged(control);
  }
  tryAgain();
});

// Enter tries, Shift+Enter is a new line; while characters are composed neither.
form.elements.message.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (hasMessage()) form.requestSubmit();
});

document.querySelector("[data-submits]")?.addEventListener("change", (event) => event.target.form.submit());

// The controls come back with the result: who is turning one keeps the one they have.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const held = document.activeElement;
  if (event.detail.target.contains(held)) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target !== result) return;
  if (asked && result.getBoundingClientRect().top > innerHeight / 2) result.scrollIntoView({ behavior: "smooth" });
  asked = false;
});

if (narrow.matches) form.querySelector(".play-settings").open = false;

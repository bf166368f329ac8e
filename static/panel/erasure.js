// The button that erases can be pressed once the user name stands in the field.

const field = document.getElementById("confirm");

if (field) {
  const button = field.form.querySelector("button");
  const check = () => {
    button.disabled = field.value !== field.dataset.expected;
  };
  field.addEventListener("input", check);
  check();
}

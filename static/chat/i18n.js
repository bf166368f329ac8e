// Words, numbers and times in the page's language. The words come from Django's catalogue (texts.js, djangojs.po).

export const { gettext, ngettext, pgettext, interpolate } = window.django;

const language = document.documentElement.lang; // "en" or "zh-hans"
// The person's own variety of it (en-GB, zh-SG) knows best how dates and numbers are written.
const locale = navigator.languages.find((own) => own.split("-")[0] === language.split("-")[0]) ?? language;

const DAY = 24 * 60 * 60 * 1000;
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const dayOfYear = new Intl.DateTimeFormat(locale, { month: "long", day: "numeric", weekday: "short" });
const dayAndYear = new Intl.DateTimeFormat(locale, { year: "numeric", month: "long", day: "numeric" });
const month = new Intl.DateTimeFormat(locale, { year: "numeric", month: "long" });
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

function startOfDay(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate());
}

/** Return how many days of the calendar `date` lies before `now`; rounding absorbs days of 23 or 25 hours. */
function daysAgo(date, now = new Date()) {
  return Math.round((startOfDay(now) - startOfDay(date)) / DAY);
}

function capitalise(text) {
  return text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
}

/** Return "Today", "Yesterday", or the date. */
export function formatDay(date, now = new Date()) {
  const days = daysAgo(date, now);
  if (days === 0 || days === 1) return capitalise(relative.format(-days, "day"));
  return (date.getFullYear() === now.getFullYear() ? dayOfYear : dayAndYear).format(date);
}

/** Return the heading under which a session of this date stands: a day, the past week, or its month. */
export function formatSessionGroup(date, now = new Date()) {
  const days = daysAgo(date, now);
  if (days <= 1) return formatDay(date, now);
  return days <= 7 ? gettext("Past 7 days") : month.format(date);
}

export function formatClock(date) {
  return clock.format(date);
}

/** Return the date alone, with its year. */
export function formatDate(date) {
  return dayAndYear.format(date);
}

export function formatMoment(date) {
  return moment.format(date);
}

export function formatCount(value) {
  return new Intl.NumberFormat(locale).format(value);
}

/** Return a score with two places, so that scores below each other line up. */
export function formatScore(value) {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
}

/** Return a share from 0 to 1 as a percentage. */
export function formatShare(value) {
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 }).format(value);
}

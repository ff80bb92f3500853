"use strict";

const $ = (id) => document.getElementById(id);

// call sends a request and returns the JSON of the response. It shows an error to the user and throws it.
async function call(path, options) {
  $("problem").textContent = "";
  let problem = "The server cannot be reached. Try again.";
  try {
    const response = await fetch(path, { headers: { Accept: "application/json" }, ...options });
    const body = response.status === 204 ? null : await response.json();
    if (response.ok) return body;
    if (response.status === 401) setUser("");
    problem = body.error;
  } catch {
    // The network failed, or something else than the board responded.
  }
  $("problem").textContent = problem;
  throw new Error(problem);
}

const post = (path, value) =>
  call(path, { method: "POST", headers: { Accept: "application/json", "Content-Type": "application/json" }, body: JSON.stringify(value) });

// setUser shows what a user may do; "" means that nobody is signed in.
function setUser(name) {
  $("who").textContent = name;
  $("login").hidden = name !== "";
  $("account").hidden = $("write").hidden = $("upload").hidden = name === "";
  for (const item of $("notes").children) item.querySelector(".remove").hidden = item.dataset.by !== name;
}

function add(parent, name, properties) {
  const element = Object.assign(document.createElement(name), properties);
  parent.append(element);
  return element;
}

// show puts a note at the top of the board, unless it is there already. pages/board.html has the same elements.
function show(note, className) {
  if ($("notes").querySelector(`[data-id="${note.id}"]`)) return;
  const item = document.createElement("li");
  item.className = className;
  item.dataset.id = note.id;
  item.dataset.by = note.by;
  if (note.file) {
    const link = add(item, "a", { href: note.file });
    if (/\.(png|jpe?g|gif|webp)$/.test(note.file)) add(link, "img", { src: note.file, alt: "" });
    link.append(note.text);
  } else {
    add(item, "p", { className: "text", textContent: note.text });
  }
  const footer = add(item, "footer");
  add(footer, "b", { textContent: note.by });
  add(footer, "time", { dateTime: note.at });
  add(footer, "button", { type: "button", className: "remove", textContent: "Remove", hidden: note.by !== $("who").textContent });
  $("notes").prepend(item);
  showTime(item);
  $("empty").hidden = true;
}

function remove(id) {
  $("notes").querySelector(`[data-id="${id}"]`)?.remove();
  $("empty").hidden = $("notes").children.length > 0;
}

// showTime shows the time of a note in the time zone of the user.
function showTime(item) {
  const time = item.querySelector("time");
  time.textContent = new Date(time.dateTime).toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

// on calls act with the data of a form when it is submitted, and empties the form if act succeeds.
function on(form, act) {
  $(form).addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = $(form).querySelector("button");
    button.disabled = true;
    try {
      await act(new FormData($(form)));
      $(form).reset();
    } catch {
      // call has shown the error.
    }
    button.disabled = false;
  });
}

on("login", async (data) => setUser((await post("/api/login", { name: data.get("name") })).name));
on("logout", async () => {
  await post("/api/logout");
  setUser("");
});
on("write", (data) => post("/api/notes", { text: data.get("text") }));
on("upload", (data) => call("/api/files", { method: "POST", body: data }));

$("notes").addEventListener("click", (event) => {
  if (!event.target.matches(".remove")) return;
  call("/api/notes/" + event.target.closest("li").dataset.id, { method: "DELETE" }).catch(() => {});
});

function setLive(live, text) {
  document.body.dataset.live = live;
  $("live").textContent = text;
  $("live").hidden = false;
}

// The browser connects again by itself. It may have missed events until then, so each time the whole list is fetched. Events that
// arrive meanwhile wait in a queue, because the list may be older than they are.
let queue = null;

// after calls act, or puts it into the queue.
function after(act) {
  if (queue) queue.push(act);
  else act();
}

async function reload() {
  const mine = (queue = []);
  const notes = await call("/api/notes");
  if (queue !== mine) return; // it has connected again since
  queue = null;
  $("notes").replaceChildren();
  notes.forEach((note) => show(note, "card"));
  mine.forEach((act) => act());
  $("empty").hidden = $("notes").children.length > 0;
  setLive("yes", "Live");
}

setLive("no", "Connecting…");
for (const item of $("notes").children) showTime(item);
const events = new EventSource("/events");
events.addEventListener("open", () => reload().catch(console.error));
events.addEventListener("error", () => setLive("no", "Offline, reconnecting…"));
events.addEventListener("note", (event) => after(() => show(JSON.parse(event.data), "card new")));
events.addEventListener("removed", (event) => after(() => remove(event.data)));

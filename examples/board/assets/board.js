"use strict";

const $ = (id) => document.getElementById(id);

async function call(path, options) {
  $("problem").textContent = "";
  const answer = await fetch(path, { headers: { Accept: "application/json" }, ...options });
  const body = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) {
    $("problem").textContent = body.error;
    throw new Error(body.error);
  }
  return body;
}

const post = (path, value) =>
  call(path, { method: "POST", headers: { Accept: "application/json", "Content-Type": "application/json" }, body: JSON.stringify(value) });

function show(note) {
  if (document.querySelector(`#notes [data-id="${note.id}"]`)) return;
  const item = document.createElement("li");
  item.dataset.id = note.id;
  const by = document.createElement("b");
  by.textContent = note.by;
  let text = document.createTextNode(note.text);
  if (note.file) {
    text = document.createElement("a");
    text.href = note.file;
    text.textContent = note.text;
  }
  item.append(by, ": ", text);
  $("notes").append(item);
}

function on(form, act) {
  $(form).addEventListener("submit", (event) => {
    event.preventDefault();
    act(new FormData(event.target)).then(() => event.target.reset(), () => {});
  });
}

on("login", async (data) => {
  const who = await post("/api/login", { name: data.get("name") });
  $("who").textContent = who.name;
  $("login").hidden = true;
  $("write").hidden = $("upload").hidden = false;
});
on("write", (data) => post("/api/notes", { text: data.get("text") }));
on("upload", (data) => call("/api/files", { method: "POST", body: data }));

const events = new EventSource("/events");
events.addEventListener("open", () => document.body.dataset.live = "yes");
events.addEventListener("note", (event) => show(JSON.parse(event.data)));
events.addEventListener("removed", (event) => document.querySelector(`#notes [data-id="${event.data}"]`)?.remove());

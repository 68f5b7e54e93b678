"use strict";
// Shows the questions the page holds. Every text goes in as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const [set, lost, words] = ["filter-set", "filter-lost", "filter-text"].map(byId);
  const STAGES = ["bm25", "dense", "fused", "reranked"];
  const PAGE = 50;
  let limit = PAGE;

  const element = (name, className, ...children) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  };
  const rank = (first) => (first === null ? "not found" : `first at ${first}`);
  const score = (value) => (value === null ? "not scored" : `score ${value.toFixed(3)}`);
  const LOST = { nowhere: "not lost", unknown: "unknown" };
  const lostIn = (where) => LOST[where] ?? `lost in ${where}`;

  const passage = ([name, relevant], at) => {
    const text = data.passages[name] ?? "";
    const head = element("summary", "", `${at + 1}. ${name}`);
    if (relevant) head.append(" ", element("strong", "good", "supports"));
    return element("details", relevant ? "passage good" : "passage", head, element("blockquote", "", text));
  };

  const stage = (name, view) => element(
    "div", "stage",
    element("h4", "", `${name}: ${rank(view.first)}`),
    ...view.passages.map(passage),
  );

  const answer = (told) => {
    const failed = "Err" in told.text;
    const line = element(
      "p", "", element("strong", failed ? "bad" : "", failed ? told.text.Err : told.text.Ok),
      ` · ${score(told.score)} · ${lostIn(told.lost)} · ${data.arms[told.arm]} · seed ${told.seed}`,
    );
    const evidence = element("details", "", element("summary", "", `evidence: ${told.evidence.length} passages`));
    evidence.append(...told.evidence.map(passage));
    return element("div", "answer", line, evidence);
  };

  const look = (one) => element(
    "div", "look",
    element("h3", "", `${one.over}, passages: ${one.passages}`),
    element("p", "", one.criterion === null
      ? "No passage is known to support the answer."
      : `${one.relevant} supporting, by ${one.criterion}; ${lostIn(one.lost)}; ${one.wall_ms.toFixed(0)} ms`),
    element("div", "stages", ...STAGES.filter((name) => name in one.stages).map((name) => stage(name, one.stages[name]))),
    ...one.answers.map(answer),
  );

  const question = (row) => {
    const worst = row.looks.find((one) => one.lost !== "nowhere") ?? row.looks[0];
    const tag = element("span", `tag ${worst.lost}`, lostIn(worst.lost));
    const shown = element("details", "question", element("summary", "", tag, " ", row.text));
    // Made when it is opened: a set may have thousands.
    shown.addEventListener("toggle", () => {
      if (!shown.open || shown.childElementCount > 1) return;
      const facts = element("dl", "facts");
      const fact = (name, value) => facts.append(element("dt", "", name), element("dd", "", value));
      fact("Question", `${row.set} ${row.id}`);
      fact("Book", row.book);
      if (row.options.length) fact("Options", row.options.map((text, at) => `${String.fromCharCode(65 + at)}. ${text}`).join("  "));
      fact("Gold", row.gold.length ? row.gold.join(" | ") : "none");
      shown.append(facts, ...row.looks.map(look));
    }, { once: false });
    return shown;
  };

  const matches = (row) => {
    if (set.value && row.set !== set.value) return false;
    if (lost.value && !row.looks.some((one) => one.lost === lost.value)) return false;
    const wanted = words.value.trim().toLowerCase();
    return !wanted || `${row.id} ${row.text} ${row.gold.join(" ")}`.toLowerCase().includes(wanted);
  };

  const show = () => {
    const found = data.questions.filter(matches);
    byId("drill").replaceChildren(...found.slice(0, limit).map(question));
    const shown = Math.min(limit, found.length);
    byId("shown").textContent = `${shown} of ${found.length} questions`;
    byId("more").hidden = shown === found.length;
  };

  for (const name of new Set(data.questions.map((row) => row.set))) {
    const option = element("option", "", name);
    option.value = name;
    set.append(option);
  }
  for (const event of ["input", "change"]) {
    byId("filters").addEventListener(event, () => { limit = PAGE; show(); });
  }
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => { limit += PAGE; show(); });
  show();
})();

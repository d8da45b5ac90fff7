"use strict";
(() => {
  const $ = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const many = document.documentElement.dataset.unit; // tokens or bytes
  const number = new Intl.NumberFormat("en-US");
  const make = (tag, css, text) => {
    const element = document.createElement(tag);
    if (css) element.className = css;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // Colours: the system's, or what the reader chose (kept where the browser allows it).
  const remember = (value) => { try { localStorage.setItem("hitpath-theme", value); } catch { /* private window */ } };
  const remembered = () => { try { return localStorage.getItem("hitpath-theme"); } catch { return null; } };
  const switches = all(".theme button");
  const setTheme = (theme) => {
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    for (const button of switches) button.setAttribute("aria-pressed", String(button.dataset.theme === (theme || "auto")));
  };
  for (const button of switches) {
    button.addEventListener("click", () => { setTheme(button.dataset.theme); remember(button.dataset.theme); });
  }
  $(".theme").hidden = false;
  setTheme(remembered() || "auto");

  // One tooltip for all pictures.
  const tip = $("#tip");
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(innerWidth - box.width - 8, x - box.width / 2)) + "px";
    tip.style.top = (y - box.height - 14 < 4 ? y + 18 : y - box.height - 14) + "px";
  };
  const hideTip = () => { tip.hidden = true; };
  let stepping = null; // shows the point under the keyboard's cursor again
  addEventListener("scroll", () => (stepping ? stepping() : hideTip()), { passive: true });

  // Plots: a cursor that the mouse, a finger or the arrow keys move from point to point.
  for (const field of all(".field[role=slider]")) {
    const points = JSON.parse($(".points", field).textContent);
    const cursor = make("div", "cursor");
    cursor.append(make("i"));
    cursor.hidden = true;
    field.append(cursor);
    let at = 0;
    const show = (i) => {
      at = Math.max(0, Math.min(points.length - 1, i));
      const [x, y, text] = points[at];
      cursor.hidden = false;
      cursor.style.left = x + "%";
      cursor.firstChild.style.top = y + "%";
      field.setAttribute("aria-valuenow", String(at));
      field.setAttribute("aria-valuetext", text);
      const box = field.getBoundingClientRect();
      showTip(text, box.left + (x / 100) * box.width, box.top + (y / 100) * box.height);
    };
    const hide = () => { cursor.hidden = true; stepping = null; hideTip(); };
    field.addEventListener("pointermove", (event) => {
      const box = field.getBoundingClientRect();
      const x = (100 * (event.clientX - box.left)) / box.width;
      let best = 0;
      points.forEach((p, i) => { if (Math.abs(p[0] - x) < Math.abs(points[best][0] - x)) best = i; });
      show(best);
    });
    field.addEventListener("pointerleave", hide);
    field.addEventListener("blur", hide);
    field.addEventListener("keydown", (event) => {
      const big = Math.max(1, Math.round(points.length / 10));
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: big, PageDown: -big, Home: -points.length, End: points.length };
      if (event.key === "Escape") hide();
      if (!(event.key in steps)) return;
      event.preventDefault();
      show(cursor.hidden ? at : at + steps[event.key]);
      stepping = () => show(at);
    });
  }

  // Tables: sort by any column, filter by name; only the rows that are looked at are drawn.
  const FIRST = 12, STEP = 250;
  // As Python rounds: to even where the third decimal is exactly a five (100 times a rate is then
  // an odd number of eighths, and a quarter of these would be rounded up).
  const percent = (part, whole) => {
    if (!whole) return "–";
    const value = (part / whole) * 100;
    return ((value * 8) % 4 === 1 ? Math.floor(value * 100) / 100 : value).toFixed(2) + "\u00a0%";
  };
  const collator = new Intl.Collator("en", { numeric: true });
  for (const group of all(".group")) {
    const body = $("tbody", group), heads = all("thead th:not(.mini)", group);
    const known = heads.length > 5; // what was possible stands in the last two columns
    const rows = JSON.parse($(".rows", group).textContent).map(([name, requests, prompt, hit, possible], place) => ({
      name, place, text: name.toLowerCase(), hit, possible, prompt,
      order: [place, requests, prompt, hit, prompt ? hit / prompt : -1, prompt ? possible / prompt : -1, possible - hit],
    }));
    const cell = (tag, text) => { const made = make(tag); made.append(make("bdi", "", text)); return made; };
    const bar = (css, part, whole) => {
      const made = make("i", css);
      made.style.width = (whole ? Math.min(100, (100 * part) / whole) : 0).toFixed(1) + "%";
      return made;
    };
    const element = (row) => {
      if (row.element) return row.element;
      const made = (row.element = make("tr"));
      const head = cell("th", row.name);
      head.scope = "row";
      const texts = [...row.order.slice(1, 4).map((n) => number.format(n)), percent(row.hit, row.prompt)];
      if (known) texts.push(percent(row.possible, row.prompt), number.format(row.order[6]));
      const picture = make("td", "mini"), bars = make("div", "cellbar");
      bars.setAttribute("aria-hidden", "true");
      if (known) bars.append(bar("p", row.possible, row.prompt));
      bars.append(bar("h", row.hit, row.prompt));
      picture.append(bars);
      made.append(head, ...texts.map((text) => make("td", "", text)), picture);
      return made;
    };
    const input = $("input", group), [more, fewer] = all(".more button", group), status = $(".shown", group);
    let limit = FIRST;
    const draw = () => {
      const words = input.value.trim().toLowerCase();
      const found = words ? rows.filter((row) => row.text.includes(words)) : rows;
      const visible = found.slice(0, limit);
      body.replaceChildren(...visible.map(element));
      const rest = found.length - visible.length;
      more.hidden = !rest;
      more.textContent = rest <= STEP ? `Show all ${number.format(found.length)}` : `Show ${number.format(STEP)} more`;
      fewer.hidden = limit === FIRST || found.length <= FIRST;
      status.textContent = words || rows.length > FIRST ? `${number.format(visible.length)} of ${number.format(rows.length)} shown` : "";
    };
    heads.forEach((head, column) => {
      const button = make("button", "", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const was = head.getAttribute("aria-sort");
        const byName = column === 0 && group.dataset.key !== "turn";
        const up = was ? was !== "ascending" : column === 0;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort((a, b) => {
          const less = byName ? collator.compare(a.name, b.name) : a.order[column] - b.order[column];
          return (up ? less : -less) || a.place - b.place;
        });
        draw();
      });
    });
    input.addEventListener("input", () => { limit = FIRST; draw(); });
    more.addEventListener("click", () => { limit += STEP; draw(); });
    fewer.addEventListener("click", () => { limit = FIRST; draw(); });
    $(".filter", group).hidden = rows.length < 6;
    draw();
  }

  // The prefix tree.
  const icicle = $("#icicle");
  if (icicle) {
    const LEVELS = 10, TALL = 31, NARROW = 3, AT_MOST = 40;
    const fields = ["parent", "name", "begin", "tokens", "requests", "ownArea", "ownHit", "area", "merged", "first", "text"];
    const nodes = JSON.parse($("#tree-data").textContent).map((values, index) => {
      const node = { index, children: [] };
      fields.forEach((field, i) => { node[field] = values[i]; });
      return node;
    });
    for (const node of nodes) if (node.parent >= 0) nodes[node.parent].children.push(node);
    for (const node of nodes) node.hit = node.ownHit;
    for (const node of [...nodes].reverse()) if (node.parent >= 0) nodes[node.parent].hit += node.hit;
    for (const node of nodes) node.children.sort((a, b) => (a.merged > 0) - (b.merged > 0) || b.area - a.area || a.index - b.index);
    const up = (node) => (node.parent < 0 ? null : nodes[node.parent]);
    // Children too narrow to see at this zoom become one box, which can be zoomed into itself.
    const lumps = new Map();
    const lumpOf = (node, narrow) => {
      const key = node.index + ":" + narrow.length;
      if (!lumps.has(key)) {
        const sum = (field) => narrow.reduce((total, child) => total + child[field], 0);
        const count = narrow.reduce((total, child) => total + (child.merged || 1), 0);
        const lump = { index: nodes.length, parent: node.index, name: `${number.format(count)} others`, begin: narrow[0].begin, tokens: 0, requests: sum("requests"), ownArea: sum("area"), ownHit: sum("hit"), hit: sum("hit"), area: sum("area"), merged: count, first: "", text: "", children: narrow };
        nodes.push(lump);
        lumps.set(key, lump);
      }
      return lumps.get(key);
    };
    const shownChildren = (node, width) => {
      const wide = ice.clientWidth || 1000;
      const isWide = (child) => ((width / 100) * wide * child.area) / (node.area || 1) >= NARROW;
      const visible = node.children.filter(isWide);
      const narrow = node.children.filter((child) => !isWide(child));
      if (!visible.some((child) => !child.merged) && node.merged) visible.unshift(...narrow.splice(0, AT_MOST));
      if (narrow.length && !node.merged && visible.at(-1)?.merged) narrow.push(visible.pop());
      if (narrow.length === 1) visible.push(narrow.pop());
      return narrow.length ? [...visible, lumpOf(node, narrow)] : visible;
    };
    const describe = (node) => {
      const share = `${percent(node.area, nodes[0].area)} of all prompt ${many}`;
      if (node.parent < 0) return `All prompts: ${number.format(node.requests)} requests, ${number.format(node.area)} prompt ${many}.`;
      if (node.merged) return `${node.name}: ${number.format(node.merged)} small stretches with all below them, ${number.format(node.requests)} requests, ${percent(node.ownHit, node.area)} hit, ${share}.${node.children.length ? " Zoomed into, they are drawn wider than they are." : ""}`;
      if (!node.tokens) return `${node.name}: ${number.format(node.requests)} requests, ${share}.`;
      return `${node.name}: ${many} ${number.format(node.begin)} to ${number.format(node.begin + node.tokens)} of ${number.format(node.requests)} request${node.requests > 1 ? "s" : ""}, ${percent(node.ownHit, node.ownArea)} hit, with all below ${share}. First in ${node.first}.${node.text && ` Text: “${node.text}”`}`;
    };
    const ice = $(".ice", icicle), crumbs = $(".crumbs", icicle), told = $(".told", icicle);
    let focus = nodes[0], current = nodes[0], drawn = [];
    const place = (node, left, width, level, boxes) => {
      if (level >= LEVELS) return;
      boxes.push({ node, left, width, level });
      if (node.merged && node !== focus) return;
      // What stands for many small boxes shows them, once zoomed into, wider than they are.
      const least = node === focus && node.merged ? 1 / (AT_MOST + 10) : 0;
      const children = shownChildren(node, width);
      const shares = children.map((child) => Math.max(least, node.area ? child.area / node.area : 0));
      const whole = least ? shares.reduce((total, share) => total + share, 0) : 1;
      let x = left;
      children.forEach((child, i) => {
        const w = (width * shares[i]) / whole;
        place(child, x, w, level + 1, boxes);
        x += w;
      });
    };
    const labelOf = (node) => {
      const name = node.tokens ? `${node.name} · ${number.format(node.tokens)}` : node.name;
      return node.text ? `“${node.text}” · ${name}` : name;
    };
    // Whole, else without its number (half a number misleads), else six letters: fewer tell nothing.
    const labelIn = (node, pixels) => {
      const whole = labelOf(node), room = (pixels - 14) / 7.2;
      const label = whole.length <= room || node.text ? whole : node.name;
      return room >= Math.min(label.length, 7) ? label : "";
    };
    const boxOf = (node) => $(`[data-index="${node.index}"]`, ice);
    const select = (node, take) => {
      current = node;
      for (const box of all(".box", ice)) box.tabIndex = Number(box.dataset.index) === node.index ? 0 : -1;
      told.textContent = describe(node);
      if (take) boxOf(node)?.focus({ preventScroll: true });
    };
    const render = () => {
      const boxes = (drawn = []);
      place(focus, 0, 100, 0, boxes);
      const wide = ice.clientWidth || 1000;
      ice.style.height = TALL * (1 + Math.max(...boxes.map((b) => b.level))) + "px";
      ice.replaceChildren(...boxes.map(({ node, left, width, level }) => {
        const share = node.merged ? node.ownHit / (node.area || 1) : node.ownHit / (node.ownArea || 1);
        const pixels = (width * wide) / 100;
        const label = labelIn(node, pixels);
        const css = ["box", !label && "thin", node.merged && "rest", node.merged && !node.children.length && "end", share > 0.62 && "deep", node.parent >= 0 && !node.tokens && !node.merged && "whole", node.parent < 0 && "whole"];
        const box = make("div", css.filter(Boolean).join(" "), label);
        box.dataset.index = node.index;
        box.tabIndex = -1;
        box.setAttribute("role", "treeitem");
        box.setAttribute("aria-level", String(level + 1));
        box.setAttribute("aria-label", describe(node));
        box.setAttribute("aria-selected", "false");
        if (node.children.length && !node.merged) box.setAttribute("aria-expanded", "true");
        box.style.cssText = `left:${left.toFixed(3)}%;width:calc(${width.toFixed(3)}% - ${pixels > 6 ? 1.5 : 0.4}px);top:${level * TALL}px;--h:${share.toFixed(3)}`;
        return box;
      }));
      const path = [];
      for (let node = focus; node; node = up(node)) path.unshift(node);
      crumbs.replaceChildren(...path.map((node) => {
        const button = make("button", "", node.name);
        button.type = "button";
        if (node === focus) button.setAttribute("aria-current", "true");
        button.addEventListener("click", () => { focus = node; render(); select(node, false); });
        return button;
      }));
    };
    const zoom = (node, take) => {
      if (node.merged && !node.children.length) return;
      focus = node;
      render();
      select(node, take);
      icicle.dataset.focus = String(node.index);
    };
    const nodeOf = (event) => {
      const box = event.target.closest?.(".box");
      return box ? nodes[Number(box.dataset.index)] : null;
    };
    ice.addEventListener("click", (event) => {
      const node = nodeOf(event);
      if (node) zoom(node === focus && up(node) ? up(node) : node, true);
    });
    ice.addEventListener("pointermove", (event) => {
      const node = nodeOf(event);
      if (node) showTip(describe(node), event.clientX, event.clientY);
    });
    ice.addEventListener("pointerleave", hideTip);
    ice.addEventListener("keydown", (event) => {
      const here = drawn.find((b) => b.node === current) || drawn[0];
      const row = drawn.filter((b) => b.level === here.level);
      const to = {
        ArrowDown: () => drawn.filter((b) => b.level === here.level + 1 && b.left >= here.left - 0.001 && b.left < here.left + here.width)[0],
        ArrowUp: () => drawn.filter((b) => b.level === here.level - 1 && b.left <= here.left + 0.001).pop(),
        ArrowRight: () => row[row.indexOf(here) + 1],
        ArrowLeft: () => row[row.indexOf(here) - 1],
        Home: () => drawn[0],
      }[event.key];
      if (to) {
        event.preventDefault();
        const next = to();
        if (next) select(next.node, true);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        zoom(current, true);
      } else if ((event.key === "Escape" || event.key === "Backspace") && up(focus)) {
        event.preventDefault();
        zoom(up(focus), true);
      }
    });
    render();
    select(nodes[0], false);
    let was = ice.clientWidth;
    addEventListener("resize", () => { if (ice.clientWidth !== was) { was = ice.clientWidth; render(); select(current, false); } });
  }

  // The command line, and everything unfolded on paper.
  const copy = $("#copy");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const code = $(".command code");
    try { await navigator.clipboard.writeText(code.textContent); copy.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(code); copy.textContent = "Selected"; }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  addEventListener("beforeprint", () => { for (const details of all("details")) details.open = true; });
})();

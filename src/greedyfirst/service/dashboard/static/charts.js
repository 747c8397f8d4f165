"use strict";
// The policy page's charts, drawn from the same JSON that programs read.

const place = document.getElementById("charts");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Plotly reads some HTML in texts; ours are names and nothing else.
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function axis(title, more) {
  return {
    title: { text: title, standoff: 8 },
    gridcolor: colour("grid"), linecolor: colour("line"), zerolinecolor: colour("line"),
    automargin: true, nticks: 5, fixedrange: true, ...more,
  };
}

function draw(element, traces, x, y, more = {}) {
  const layout = {
    font: { family: "inherit", size: 12, color: colour("ink") },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 12, t: 12, b: 8 }, dragmode: false, hovermode: "x unified",
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
    showlegend: traces.length > 1, xaxis: x, yaxis: y, ...more,
  };
  return Plotly.react(element, traces, layout, { displayModeBar: false, responsive: true });
}

function line(name, number, x, y, form = ".4~g") {
  return {
    name: plain(name), x, y, mode: "lines", hovertemplate: `%{y:${form}}`,
    line: { color: colour(`series-${(number % 6) + 1}`), dash: DASHES[number % 6], width: 2 },
  };
}

// A vertical line where something happened, with its name beside it.
function mark(at, text, last) {
  return {
    shape: {
      type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1,
      line: { color: colour("bad"), width: 1.5, dash: "dot" },
    },
    note: {
      x: at, yref: "paper", y: 0.02, yanchor: "bottom", showarrow: false, text,
      xanchor: at > last / 2 ? "right" : "left", xshift: at > last / 2 ? -4 : 4, font: { color: colour("bad"), size: 12 },
    },
  };
}

const positive = (value) => (value > 0 ? value : null);

// The smallest eigenvalue and its line, on a logarithmic axis.
function eigenvalues(number, arm, points, course, diversity) {
  const x = points.map((point) => point.rewards);
  const traces = [line("smallest eigenvalue", 0, x, points.map((point) => positive(point.min_eigenvalues[number])))];
  const tested = course.points.find((point) => point.thresholds.some((value) => value !== null));
  if (arm.threshold !== null && tested) {
    // λ₀ stays what it was found to be, so that the line is known at every point.
    const slope = diversity.lambda0 / 4;
    const height = (t) => positive(arm.threshold - slope * (diversity.rewards - t));
    const from = x.filter((t) => t >= tested.rewards);
    traces.push(line("line λ₀t/4", 1, from, from.map(height)));
  }
  return traces;
}

// The least share (of samples, or of what is known) and the share needed, the same for all arms in use.
function shares(number, arm, points, measure) {
  const x = points.map((point) => point.rewards);
  const needed = (point) => point.thresholds.find((value) => value !== null) ?? arm.threshold;
  return [
    line(`least ${measure}`, 0, x, points.map((point) => point.min_eigenvalues[number]), ".2%"),
    line("share needed", 1, x, points.map(needed), ".2%"),
  ];
}

// From 0 to what the lines reach after the first tenth: the first few shares can be anything.
function shareAxis(traces) {
  const reached = traces.flatMap((trace) => trace.y.slice(Math.floor(trace.y.length / 10)));
  return axis("", { range: [0, 1.15 * Math.max(...reached)], tickformat: ".2~%" });
}

function drawDiversity(element, course, diversity) {
  const number = Number(element.dataset.arm);
  const arm = diversity.arms[number];
  const points = course.points.filter((point) => number < point.min_eigenvalues.length);
  const byShare = diversity.measure.startsWith("share of ");
  const traces = byShare ? shares(number, arm, points, diversity.measure) : eigenvalues(number, arm, points, course, diversity);
  const last = points.length ? points[points.length - 1].rewards : 0;
  const marks = [];
  if (arm.tripped_at !== null) marks.push(mark(arm.tripped_at, "alarm", last));
  if (diversity.switched_at !== null && diversity.switched_at !== arm.tripped_at) {
    marks.push(mark(diversity.switched_at, "exploring", last));
  }
  draw(element, traces, axis("rewards"), byShare ? shareAxis(traces) : axis("", { type: "log" }), {
    shapes: marks.map((item) => item.shape), annotations: marks.map((item) => item.note),
  });
}

// Means over about thirty stretches of equally many rewards.
function means(points) {
  const every = Math.max(1, Math.round(points.length / 30));
  const x = [], y = [];
  let before = { rewards: 0, reward_sum: 0 };
  points.forEach((point, index) => {
    if ((index + 1) % every === 0) {
      x.push(new Date(point.at * 1000));
      y.push((point.reward_sum - before.reward_sum) / (point.rewards - before.rewards));
      before = point;
    }
  });
  return [x, y];
}

function drawAll(course, diversity) {
  const points = course.points;
  const times = points.map((point) => new Date(point.at * 1000));
  const date = () => axis("", { nticks: 4 });
  for (const element of place.querySelectorAll("[data-chart]")) {
    const kind = element.dataset.chart;
    if (kind === "diversity") drawDiversity(element, course, diversity);
    if (kind === "mean") draw(element, [line("mean reward", 0, ...means(points))], date(), axis(""));
    if (kind === "sum") draw(element, [line("sum", 0, times, points.map((point) => point.reward_sum))], date(), axis(""));
    if (kind === "pulls") {
      const arms = diversity.arms.map((arm, number) => [arm, number])
        .sort((one, other) => other[0].pulls - one[0].pulls).slice(0, 6).sort((one, other) => one[1] - other[1]);
      const traces = arms.map(([arm, number], place) =>
        line(arm.name, place, times, points.map((point) => point.pulls[number] ?? null)));
      draw(element, traces, date(), axis(""));
    }
  }
}

async function start() {
  const status = document.getElementById("chart-status");
  try {
    const answers = await Promise.all([fetch(place.dataset.course), fetch(place.dataset.diversity)]);
    if (!answers.every((answer) => answer.ok)) throw new Error("refused");
    const [course, diversity] = await Promise.all(answers.map((answer) => answer.json()));
    const redraw = () => drawAll(course, diversity);
    redraw();
    dark.addEventListener("change", redraw);
  } catch (error) {
    console.error(error);
    status.textContent = "The charts could not be drawn; the tables below have their numbers.";
  }
}

if (place && place.querySelector("[data-chart]")) start();

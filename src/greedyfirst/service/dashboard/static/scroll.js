// Tables that are wider than their place say so: on a phone there is no scroll bar to see.
"use strict";

function mark() {
  for (const place of document.querySelectorAll(".scroll")) {
    place.classList.toggle("overflows", place.scrollWidth > place.clientWidth + 1);
  }
}

addEventListener("resize", mark);
document.addEventListener("toggle", mark, true);
mark();

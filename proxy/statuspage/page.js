
"use strict";
(() => {
	const live = document.getElementById("live"), pause = document.getElementById("pause");
	const shown = {};
	// Without a name and password that the address of the page may have: fetch
	// refuses those.
	const place = new URL("live", location.origin + location.pathname);
	let paused = false, busy = false;

	function show(state) {
		for (const [id, html] of Object.entries(state.html)) {
			if (shown[id] !== html) {
				shown[id] = html;
				document.getElementById(id).innerHTML = html;
			}
		}
		document.title = state.title;
		live.textContent = (paused ? "Paused, as of " : "Live, as of ") + state.now + " UTC";
		live.parentElement.classList.remove("stale");
	}

	async function update() {
		if (busy || paused || document.hidden) return;
		busy = true;
		try {
			const answer = await fetch(place, { cache: "no-store", signal: AbortSignal.timeout(5000) });
			if (!answer.ok) throw new Error("status " + answer.status);
			show(await answer.json());
		} catch (error) {
			live.textContent = "The proxy does not answer; this is out of date. (" + error.message + ")";
			live.parentElement.classList.add("stale");
			document.title = "NO ANSWER · redlock-proxy";
		}
		busy = false;
	}

	pause.hidden = false;
	pause.addEventListener("click", () => {
		paused = !paused;
		pause.textContent = paused ? "Go on" : "Pause";
		live.textContent = live.textContent.replace(paused ? "Live" : "Paused", paused ? "Paused" : "Live");
		update();
	});
	document.addEventListener("visibilitychange", update);
	setInterval(update, 1000);
	update();
})();

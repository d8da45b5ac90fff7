"""The serving simulator's rules as they are told, block by block and token by token.

No forest, no counts, no calendars: every worker has a set of blocks with who uses each of them and
a plain list of the idle ones, every decoding request is visited in every step, and every event is
looked for among all that could happen next. Written from the rules alone; slow.
"""

from math import inf, nan

import numpy as np
from slow_blocks import SlowBlocks
from slow_parts import Worker
from slow_router import SlowRouter
from slow_steps import SlowSteps

from hitpath.routing.dispatch import NUM_COUNTERS
from hitpath.routing.view import empty_view
from hitpath.sim.serving.layout import USE_STEPS

CHANGE, STEP_END, MOVED, ARRIVAL = range(4)


class SlowFleet(SlowSteps, SlowBlocks, SlowRouter):
    """`run` serves all; then look at `jobs`, `workers` and the lists of observations."""

    def __init__(self, jobs, arrivals, fleet, node_of):
        self.jobs, self.arrivals, self.fleet, self.node_of = jobs, arrivals, fleet, node_of
        self.block = fleet.block_size
        begun = {}
        for change in sorted(fleet.changes, key=lambda c: c.time_s):
            begun.setdefault(change.worker, change.event)
        self.workers = [
            Worker(group, begun.get(w) != "join") for w, group in enumerate(fleet.of_workers())
        ]
        self.changes = sorted(fleet.changes, key=lambda c: c.time_s)
        self.router = fleet.router
        self.counter = np.zeros(NUM_COUNTERS, dtype=np.int64)
        self.view = empty_view(len(self.workers))
        self.remote = []
        self.sent_blocks = [{} for _ in self.workers]  # router block -> when, oldest first
        self.events = []  # KV events: (time, worker, epoch, stored, node, place)
        self.now, self.in_flight, self.admissions = 0.0, 0, 0
        self.scrapes, self.samples = {}, []
        self.queue_time, self.use_time = {}, {}
        self.to_come = {}  # row -> (time, kind)
        self.open_rows = [j.row for j in jobs if arrivals.follows[j.row] < 0]
        num_stages = int(arrivals.stage.max(initial=-1)) + 1
        self.stage_left = [int((arrivals.stage == s).sum()) for s in range(num_stages)]
        self.stage_start = [0.0] + [nan] * (num_stages - 1)
        for job in jobs:
            job.out = dict.fromkeys(("sent", "admit", "first", "finish"), nan)
            for name in ("hit", "host", "remote", "r2", "r3", "preemptions", "recomputed", "total"):
                job.out[name] = 0
            for name in ("routed", "decoder", "matched", "ending"):
                job.out[name] = -1

    # ---- time

    def run(self):
        while True:
            coming = self.next_events()
            soonest = min((event[0] for event in coming), default=inf)
            if soonest > self.now or not coming:
                ready = [w for w, worker in enumerate(self.workers) if worker.ready]
                if ready:
                    for w in ready:
                        self.workers[w].ready = False
                        self.begin_step(w)
                    continue
            if soonest == inf:
                return
            self.observe(soonest)
            self.now = soonest
            self.happen(*min(coming)[1:])

    def next_events(self):
        coming = [(time, kind, row) for row, (time, kind) in self.to_come.items()]
        coming += [
            (worker.busy_until, STEP_END, w)
            for w, worker in enumerate(self.workers)
            if worker.busy_until is not None
        ]
        if self.changes:
            coming.append((self.changes[0].time_s, CHANGE, 0))
        times = self.arrivals.time_s
        if not self.arrivals.drain:
            coming += [(float(times[row]), ARRIVAL, row) for row in self.open_rows]
            return coming
        lengths = self.arrivals.stage_length_s
        for stage, start in enumerate(self.stage_start):
            if np.isnan(start):
                if self.stage_left[stage - 1]:
                    break
                least = self.stage_start[stage - 1]
                least += 0.0 if lengths is None else float(lengths[stage - 1])
                start = self.stage_start[stage] = max(self.now, least)
            rows = [row for row in self.open_rows if self.jobs[row].stage == stage]
            coming += [(start + float(times[row]), ARRIVAL, row) for row in rows]
            if rows:
                break
        return coming

    def observe(self, until):
        passed = until - self.now
        for worker in self.workers:
            figures = len(worker.waiting), len(worker.running), worker.used
            for i, figure in enumerate(figures):
                worker.integrals[i] += figure * passed
            if passed > 0:
                waiting, _, used = figures
                worker.longest = max(worker.longest, waiting)
                share = int(used / worker.capacity * USE_STEPS)
                self.queue_time[waiting] = self.queue_time.get(waiting, 0.0) + passed
                self.use_time[share] = self.use_time.get(share, 0.0) + passed
        interval = self.fleet.scrape_interval_s
        while interval and len(self.scrapes) * interval <= until:
            self.scrapes[len(self.scrapes)] = [
                (waiting, running, used / w.capacity)
                for w in self.workers
                for waiting, running, used in [w.told]
            ]
        while len(self.samples) * self.fleet.sample_s <= until:
            self.samples.append(
                [
                    [len(w.waiting), len(w.running), w.used, len(w.idle), w.told[0], w.told[2]]
                    for w in self.workers
                ]
            )

    def engine_figures(self):
        return [(len(w.waiting), len(w.running), w.used / w.capacity) for w in self.workers]

    def happen(self, kind, number):
        if kind == CHANGE:
            self.change(self.changes.pop(0))
        elif kind == STEP_END:
            self.end_step(number)
        elif kind == MOVED:
            del self.to_come[number]
            self.moved(self.jobs[number])
        else:
            self.to_come.pop(number, None)
            if number in self.open_rows:
                self.open_rows.remove(number)
            self.arrive(self.jobs[number])

    # ---- requests come and go

    def arrive(self, job):
        job.out["sent"] = self.now
        if self.fleet.max_in_flight is not None and self.in_flight >= self.fleet.max_in_flight:
            return self.end(job, "refused_full")
        w = self.route(job)
        if w < 0:
            return self.end(job, "failed_worker")
        worker = self.workers[w]
        job.worker = job.out["routed"] = w
        job.out["matched"] = int(self.view.match[w])
        job.uncached = max(job.prompt - job.out["matched"], 0)
        job.state = "waiting"
        worker.sent += 1
        self.in_flight += 1
        tokens = job.prompt if worker.role == "prefill" else job.prompt + job.output - 1
        too_long = not worker.settings.chunked_prefill and (
            tokens > worker.settings.max_batch_tokens
        )
        if too_long or -(-tokens // self.block) > worker.capacity:
            return self.end(job, "too_large")
        worker.waiting.append(job)
        self.wake(w)
        return None

    def end(self, job, ending):
        if job.state != "unsent":
            self.in_flight -= 1
        job.state = "ended"
        job.out["ending"] = ending
        if ending == "served":
            job.out["finish"] = self.now
        if job.stage >= 0:
            self.stage_left[job.stage] -= 1
        for row in np.flatnonzero(self.arrivals.follows == job.row).tolist():
            self.to_come[row] = (self.now + float(self.arrivals.think_s[row]), ARRIVAL)

    def wake(self, w):
        worker = self.workers[w]
        if worker.alive and worker.busy_until is None:
            worker.ready = True

    # ---- a step ends

    def end_step(self, w):
        worker = self.workers[w]
        worker.busy_until = None
        worker.num_steps += 1
        worker.computed += worker.step_tokens
        done = []
        decoding = worker.step_decodes
        prompts = [job for job in worker.running if job.state == "prefill" and job.chunk]
        for job in decoding:
            job.computed += 1
            job.out["total"] += 1
            if worker.settings.replies == "growing" and worker.settings.visible != "schedule":
                self.show_now_or_late(w, job)
            self.emit(worker, job, done)
        for job in prompts:
            self.end_chunk(w, job, done)
        for job in sorted(done, key=lambda job: job.order):
            in_progress = job.flying
            self.stop(w, job)
            if worker.settings.late_results:
                job.flying = in_progress
                worker.late_ended.append(job)
            else:
                self.show(w, job, job.computed)
                self.release(w, job)
            self.end(job, "served")
        worker.told = worker.left, len(worker.running), worker.used
        if worker.running or worker.waiting or worker.settings.late_results:
            self.wake(w)

    def show_now_or_late(self, w, job):
        if self.workers[w].settings.late_results:
            self.workers[w].late.append((job, job.computed))
        else:
            self.show(w, job, job.computed)

    def emit(self, worker, job, done):
        job.emitted += 1
        worker.output += 1
        if np.isnan(job.out["first"]):
            job.out["first"] = self.now
            job.uncached = 0
        if job.emitted == job.output:
            done.append(job)
            return False
        return True

    def end_chunk(self, w, job, done):
        worker = self.workers[w]
        for _ in range(job.chunk):
            job.out["recomputed"] += job.computed < job.farthest
            job.computed += 1
        job.out["total"] += job.chunk
        job.chunk = 0
        visible = worker.settings.visible
        shows = visible == "processed" or (visible == "prompt" and job.computed == job.goal)
        if shows:
            self.show_now_or_late(w, job)
        if job.computed < job.goal:
            return
        if worker.role == "prefill":
            self.hand_over(w, job)
        elif self.emit(worker, job, done):
            job.flying = shows and worker.settings.late_results
            job.state = "decode"

    def hand_over(self, w, job):
        self.stop(w, job)
        able = [
            v for v, worker in enumerate(self.workers) if worker.alive and worker.role == "decode"
        ]
        active = {v: sum(j.prompt + j.emitted for j in self.counted_on(v)) for v in able}
        v = min(able, key=lambda v: (active[v], v), default=-1)
        tokens = job.prompt + job.output - 1
        if v < 0 or -(-tokens // self.block) > self.workers[v].capacity:
            self.show(w, job, job.computed)
            self.release(w, job)
            return self.end(job, "failed_worker" if v < 0 else "too_large")
        job.state, job.target, job.uncached = "moving", v, 0
        job.out["decoder"] = v
        self.workers[w].moving.append(job)
        self.workers[v].sent += 1
        link = self.fleet.transfer
        self.to_come[job.row] = (self.now + link.latency_s + job.prompt * link.s_per_token, MOVED)
        return None

    def moved(self, job):
        w, v = job.worker, job.target
        self.workers[w].moving.remove(job)
        self.show(w, job, job.computed)
        self.release(w, job)
        self.wake(w)
        job.worker, job.target, job.handed, job.state = v, -1, True, "waiting"
        self.workers[v].waiting.append(job)
        self.wake(v)

    # ---- workers come and go

    def change(self, change):
        worker = self.workers[change.worker]
        if change.event in ("fail", "restart") and worker.alive:
            self.fail(change.worker)
        if change.event != "fail":
            worker.alive = True

    def fail(self, w):
        worker = self.workers[w]
        if worker.busy_until is not None:
            worker.busy -= worker.busy_until - self.now
        worker.busy_until, worker.alive, worker.ready = None, False, False
        worker.told = 0, 0, 0
        for job in list(worker.running):
            self.stop(w, job)
            self.release(w, job, False)
            self.end(job, "failed_worker")
        for job in list(worker.waiting):
            worker.waiting.remove(job)
            self.end(job, "failed_worker")
        for v, other in enumerate(self.workers):
            for job in list(other.moving):
                if v == w or job.target == w:
                    other.moving.remove(job)
                    del self.to_come[job.row]
                    if v != w:
                        self.show(v, job, job.computed)
                    self.release(v, job, v != w)
                    self.end(job, "failed_worker")
                    self.wake(v)
        worker.blocks, worker.idle, worker.host, worker.believed = {}, [], [], {}
        self.sent_blocks[w] = {}
        worker.epoch += 1

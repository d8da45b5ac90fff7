"""The slow simulator's router: what it sees is counted anew for every request."""

import numpy as np
from slow_parts import common_held

from hitpath.routing.dispatch import pick
from hitpath.routing.draws import uniform
from hitpath.routing.view import ask_of


class SlowRouter:
    """Mixed into SlowFleet."""

    def counted_on(self, w):
        """Requests that the router counts on a worker."""
        there = ("waiting", "prefill", "decode", "moving")
        return [
            job
            for job in self.jobs
            if job.state in there and (job.target if job.target >= 0 else job.worker) == w
        ]

    def route(self, job):
        view, settings = self.view, self.router.index
        for w, worker in enumerate(self.workers):
            counted = self.counted_on(w)
            begun = [j for j in counted if not np.isnan(j.out["first"])]
            view.alive[w] = worker.alive and worker.role != "decode"
            view.in_flight[w] = len(counted)
            view.prefill_tokens[w] = sum(j.uncached for j in counted)
            view.active_tokens[w] = sum(j.prompt + j.emitted for j in counted)
            view.decoding[w] = len(begun)
            view.decoding_context[w] = sum(j.prompt + j.emitted for j in begun)
            view.sent[w] = worker.sent
            active = {name for j in counted for name in j.prompt_path}
            view.active_unique[w] = len(active) * self.block
            view.active_shared[w] = common_held(job.prompt_path, active) * self.block
        if not view.alive.any():
            return -1
        self.see_engines()
        if settings.source == "resident":
            self.see_resident(job)
        elif settings.source == "history":
            self.see_history(job)
        arrivals = ask_of(
            job.row,
            job.prompt,
            session=int(job.session),
            prefix_hash=int(job.prefix_hash),
            expected_output_tokens=int(job.expected),
            time_s=self.now,
        )
        w = int(
            pick(
                self.router.kind,
                np.array(self.router.params),
                np.array(self.router.ring),
                arrivals,
                view,
                self.counter,
                np.uint64(self.router.seed),
            )
        )
        if settings.source == "history":
            path = job.router_path[: settings.max_blocks or None]
            sent = self.sent_blocks[w]
            for block in reversed(path):
                sent.pop(block, None)
                sent[block] = self.now
            while settings.capacity_blocks and len(sent) > settings.capacity_blocks:
                del sent[next(iter(sent))]
        return w

    def see_engines(self):
        figures = self.engine_figures()
        interval, age = self.fleet.scrape_interval_s, self.fleet.scrape_age_s
        if interval:
            told = [tick for tick in self.scrapes if tick * interval + age <= self.now]
            figures = self.scrapes[max(told)] if told else [(0, 0, 0.0)] * len(self.workers)
        for w, (waiting, running, use) in enumerate(figures):
            self.view.waiting[w], self.view.running[w] = waiting, running
            self.view.kv_use[w] = use

    def in_router_blocks(self, blocks):
        unit = self.router.index.block_tokens or self.block
        tokens = blocks * self.block // unit * unit
        most = self.router.index.max_blocks
        return min(tokens, most * unit) if most else tokens

    def see_resident(self, job):
        late = self.fleet.index_lag_s > 0 or self.fleet.index_loss_frac > 0
        while late and self.events and self.events[0][0] + self.fleet.index_lag_s <= self.now:
            _, w, epoch, stored, node, place = self.events.pop(0)
            believed = self.workers[w].believed
            if epoch != self.workers[w].epoch:
                continue
            before = believed.get(node, 0)
            if not stored:
                believed[node] = min(before, place)
            elif before >= place:
                believed[node] = max(before, place + 1)
        for w, worker in enumerate(self.workers):
            blocks = worker.match(job.prompt_path)
            held = len(worker.blocks)
            if late:
                held = sum(worker.believed.values())
                blocks = 0
                for name in job.prompt_path:
                    node, place = self.node_of[name]
                    if worker.believed.get(node, 0) <= place:
                        break
                    blocks += 1
            self.view.match[w] = self.in_router_blocks(blocks)
            self.view.index_tokens[w] = held * self.block
            below = max(common_held(job.prompt_path, store) for store in (worker.host, self.remote))
            below = self.in_router_blocks(below)
            self.view.match_host[w] = max(self.view.match[w], below)

    def see_history(self, job):
        settings = self.router.index
        unit = settings.block_tokens or self.block
        for w, sent in enumerate(self.sent_blocks):
            if settings.ttl_s:
                for block in [b for b, t in sent.items() if t + settings.ttl_s < self.now]:
                    del sent[block]
            blocks = common_held(job.router_path[: settings.max_blocks or None], sent)
            self.view.match[w] = self.view.match_host[w] = min(blocks * unit, job.prompt)
            self.view.index_tokens[w] = len(sent) * unit

    def tell(self, w, stored, name):
        fleet, worker = self.fleet, self.workers[w]
        if not (fleet.index_lag_s > 0 or fleet.index_loss_frac > 0):
            return
        lost = fleet.index_loss_frac > 0 and (
            uniform(np.uint64(fleet.seed), w, worker.num_steps) < fleet.index_loss_frac
        )
        if not lost:
            node, place = self.node_of[name]
            self.events.append((self.now, w, worker.epoch, stored, node, place))

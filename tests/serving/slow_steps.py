"""The slow simulator's steps: every request that runs is visited in each."""

import numpy as np
from slow_parts import Step, common, common_held


class SlowSteps:
    """Mixed into SlowFleet."""

    def begin_step(self, w):
        worker = self.workers[w]
        while True:
            step = Step(worker.settings.max_batch_tokens)
            mixed = worker.settings.mixed
            preempted = mixed and self.decode(w, step)
            preempted |= self.continue_prompts(w, step)
            self.show_replies(w, step)
            if not preempted:
                self.admit(w, step)
            if not mixed and not step.tokens:
                preempted |= self.decode(w, step)
                self.show_replies(w, step)
            again = self.handle_late(w) or preempted
            if step.tokens or not again:
                break
        if not step.tokens:
            return
        seconds = step.seconds(worker)
        load = step.load_s
        seconds = max(seconds, load) if self.fleet.load_overlaps else seconds + load
        worker.busy_until = self.now + seconds
        worker.busy += seconds
        worker.step_tokens, worker.step_decodes = step.tokens, step.decodes
        worker.left = len(worker.waiting)

    def preempt_for(self, w, job, needed, step):
        """Whether the job goes on, and whether somebody had to go."""
        worker = self.workers[w]
        went = False
        while worker.capacity - worker.used < needed:
            victim = worker.running[-1]
            went = True
            if victim in step.decodes:
                step.decodes.remove(victim)
                step.tokens -= 1
            self.stop(w, victim)
            self.release(w, victim)
            victim.state = "waiting"
            worker.waiting.insert(0, victim)
            worker.preemptions += 1
            victim.out["preemptions"] += 1
            if victim is job:
                return False, True
        return True, went

    def handle_late(self, w):
        """What the step before computed can be found, who ended in it gives back its blocks."""
        worker = self.workers[w]
        late, ended = worker.late, worker.late_ended
        worker.late, worker.late_ended = [], []
        for job, tokens in late:
            if job in worker.running or job in worker.moving:
                self.show(w, job, tokens)
                if tokens >= job.goal:
                    job.flying = False
        for job in ended:
            job.flying = False
            self.show(w, job, job.computed)
            self.release(w, job)
        return bool(late or ended)

    def show_replies(self, w, step):
        """What this step adds to replies is visible as it is scheduled."""
        settings = self.workers[w].settings
        if settings.replies == "growing" and settings.visible == "schedule":
            for job in step.decodes:
                self.show(w, job, job.computed + 1)

    def stop(self, w, job):
        self.workers[w].running.remove(job)
        job.flying = False
        job.farthest = max(job.farthest, job.computed)

    def decode(self, w, step):
        worker, went = self.workers[w], False
        for job in list(worker.running):
            if job.state != "decode":
                continue
            if job.computed % self.block == 0:
                goes_on, some = self.preempt_for(w, job, 1, step)
                went |= some
                if not goes_on:
                    break
                self.allocate(w, job, 1)
            step.decodes.append(job)
            step.tokens += 1
        return went

    def continue_prompts(self, w, step):
        worker, went = self.workers[w], False
        for job in list(worker.running):
            if job.state != "prefill" or step.tokens >= step.most:
                continue
            chunk = min(job.goal - job.computed, step.most - step.tokens)
            held = job.own + job.shared - job.copies
            needed = max(-(-(job.computed + chunk) // self.block) - held, 0)
            goes_on, some = self.preempt_for(w, job, needed, step)
            went |= some
            if not goes_on:
                break
            self.allocate(w, job, needed)
            self.take_chunk(w, job, chunk, step)
        return went

    def take_chunk(self, w, job, chunk, step):
        job.chunk = chunk
        step.tokens += chunk
        step.chunks.append((job.computed, chunk, job.computed + chunk == job.goal))
        if self.workers[w].settings.visible == "schedule":
            self.show(w, job, job.computed + chunk)

    def flying_match(self, worker, job):
        """Blocks of the prompt that prompts in progress there are computing."""
        return max(
            (
                common(job.prompt_path, j.prompt_path)
                for j in [*worker.running, *worker.late_ended]
                if j.flying
            ),
            default=0,
        )

    def in_tiers(self, worker, path):
        return worker.match(path), common_held(path, worker.host), common_held(path, self.remote)

    def admit(self, w, step):
        worker = self.workers[w]
        for job in list(worker.waiting):
            if step.tokens >= step.most or len(worker.running) >= worker.settings.max_running:
                break
            if worker.settings.wait_for_twins and not job.handed:
                there = max(self.in_tiers(worker, job.prompt_path))
                most = self.most_hit(worker, job.prompt_path, job.prompt)
                if there < most and there < self.flying_match(worker, job):
                    continue
            if not self.try_admission(w, job, step):
                break

    def grants(self, worker, job, path, goal):
        if job.handed:
            return [min(worker.match(path), self.whole(path, goal)), 0, 0]
        most = self.most_hit(worker, path, goal)
        device, host, remote = (min(n, most) for n in self.in_tiers(worker, path))
        host = max(host - device, 0)
        return [device, host, max(remote - device - host, 0)]

    def try_admission(self, w, job, step):
        worker, settings = self.workers[w], self.workers[w].settings
        goal = job.prompt + job.emitted
        path = self.path(w, job) if job.emitted else job.prompt_path
        device, host, remote = self.grants(worker, job, path, goal)
        hit = device + host + remote
        start = goal - 1 if job.handed else min(hit * self.block, goal - 1)
        left = step.most - step.tokens
        chunk = min(goal - start, left) if settings.chunked_prefill else goal - start
        if chunk > left:
            return False
        ends = goal if settings.reserve_full_prompt else start + chunk
        needed = max(-(-ends // self.block), hit) - device
        needed += sum(not worker.blocks[name] for name in path[:device])
        room = worker.capacity - worker.used
        if worker.running and settings.capacity_blocks is not None:
            room -= int(settings.watermark_frac * settings.capacity_blocks)
        if needed > room:
            return False
        if np.isnan(job.out["admit"]):
            self.first_admission(worker, job, host, remote, hit)
        self.hit(w, job, path, device)
        self.allocate(w, job, max(-(-(start + chunk) // self.block), hit) - device)
        worker.waiting.remove(job)
        worker.running.append(job)
        job.order = self.admissions
        self.admissions += 1
        job.state, job.goal, job.computed = "prefill", goal, start
        whole = chunk == goal - start and settings.visible == "schedule"
        job.flying = not job.handed and not whole
        for count, tier in ((host, self.fleet.host), (remote, self.fleet.remote)):
            if count:
                step.load_s += tier.link.latency_s + count * self.block * tier.link.s_per_token
        step.lookup_s += worker.steps.lookup_s_per_block * (goal // self.block)
        job.handed = False
        self.take_chunk(w, job, chunk, step)
        return True

    def first_admission(self, worker, job, host, remote, hit):
        out = job.out
        out["admit"] = self.now
        out["host"], out["remote"] = host * self.block, remote * self.block
        out["hit"] = hit * self.block
        reach = []
        for v in self.workers:
            most = self.most_hit(v, job.prompt_path, job.prompt)
            flying = self.flying_match(v, job)
            there = max(*self.in_tiers(v, job.prompt_path), flying)
            if v.alive:
                reach.append(min(there, most) * self.block)
            if v is worker:
                out["r2"] = max(out["hit"], min(flying, most) * self.block)
        out["r3"] = max(out["r2"], *reach)

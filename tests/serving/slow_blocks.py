"""The slow simulator's blocks: taken, shared and given back one by one."""

from math import inf

from slow_parts import most_recent


class SlowBlocks:
    """Mixed into SlowFleet."""

    def allocate(self, w, job, count):
        worker = self.workers[w]
        for _ in range(count):
            if worker.used + len(worker.idle) >= worker.capacity:
                name = worker.idle.pop(0)
                del worker.blocks[name]
                worker.evicted += 1
                self.tell(w, False, name)
            worker.own += 1
            job.own += 1
        worker.peak = max(worker.peak, worker.used)

    def hit(self, w, job, path, count):
        worker = self.workers[w]
        for name in path[:count]:
            if not worker.blocks[name]:
                worker.idle.remove(name)
            worker.blocks[name].add(job.row)
        job.shared = count
        worker.peak = max(worker.peak, worker.used)

    def share(self, w, job, path, upto):
        worker = self.workers[w]
        for name in path[job.shared : upto]:
            if name not in worker.blocks:
                worker.blocks[name] = set()
                self.tell(w, True, name)
            elif worker.blocks[name] and not worker.settings.free_copies:
                job.copies += 1
                worker.blocks[name].add(job.row)
                continue
            elif not worker.blocks[name]:
                worker.idle.remove(name)
            worker.blocks[name].add(job.row)
            worker.own -= 1
            job.own -= 1
        job.shared = max(job.shared, upto)

    def show(self, w, job, tokens):
        """Its blocks can be found, as far as these tokens fill them."""
        path = self.path(w, job)
        self.share(w, job, path, self.whole(path, tokens))

    def release(self, w, job, write_down=True):
        worker = self.workers[w]
        path = self.path(w, job)
        if write_down:
            kept = path[: job.shared]
            if self.fleet.host is not None:
                most_recent(worker.host, kept, self.fleet.host.capacity_blocks or inf)
            if self.fleet.remote is not None:
                most_recent(self.remote, kept, self.fleet.remote.capacity_blocks or inf)
        for name in reversed(path[: job.shared]):
            worker.blocks[name].remove(job.row)
            if not worker.blocks[name]:
                worker.idle.append(name)
        worker.own -= job.own
        job.own = job.shared = job.copies = 0

    def path(self, w, job):
        return job.full_path if self.workers[w].settings.cache_outputs else job.prompt_path

    def whole(self, path, tokens):
        return min(tokens // self.block, len(path))

    def most_hit(self, worker, path, tokens):
        return self.whole(path, tokens - 1 if worker.settings.last_token else tokens)

<?php

declare(strict_types=1);

/** Callers, in processes of their own, take turns at one lock. They share files in one directory. */
final class Contention
{
    private string $dir;

    public function __construct(private Stage $stage, private int $callers, private int $rounds)
    {
    }

    /** Runs all rounds; the event happens once, in the caller that ends a third of them. */
    public function run(callable $event): void
    {
        $this->dir = sys_get_temp_dir() . '/contention-' . bin2hex(random_bytes(8));
        mkdir($this->dir);
        foreach (['done', 'overlaps', 'failures'] as $file) {
            touch("$this->dir/$file");
        }
        $children = array_map(fn () => $this->fork($event), range(1, $this->callers));
        foreach ($children as $pid) {
            pcntl_waitpid($pid, $status);
        }
        $this->report();
        array_map('unlink', glob("$this->dir/*"));
        rmdir($this->dir);
    }

    private function report(): void
    {
        $done = filesize("$this->dir/done");
        $overlaps = filesize("$this->dir/overlaps");
        $failures = array_unique(file("$this->dir/failures", FILE_IGNORE_NEW_LINES));
        $this->stage->add('rounds done:', (string) $done);
        $this->stage->add('overlaps:', (string) $overlaps);
        if ($done !== $this->callers * $this->rounds || $overlaps !== 0 || $failures !== []) {
            $this->stage->fault('failed: ' . implode(', ', $failures));
        }
    }

    private function fork(callable $event): int
    {
        $pid = pcntl_fork();
        if ($pid === -1) {
            throw new RuntimeException('cannot fork');
        }
        if ($pid > 0) {
            return $pid;
        }
        try {
            $this->turns($event);
        } catch (Throwable $e) {
            $this->append('failures', Stage::describe($e) . "\n");
        }
        // Without the parent's destructors, which would speak on its connections.
        posix_kill(posix_getpid(), SIGKILL);
        exit;
    }

    private function turns(callable $event): void
    {
        $client = $this->stage->library->connect($this->stage->at);
        for ($i = 0; $i < $this->rounds; $i++) {
            $this->turn($client->lock($this->stage->name, Stage::LONG));
            clearstatcache();
            if (filesize("$this->dir/done") >= $this->callers * $this->rounds / 3 && $this->first('happened')) {
                $event();
            }
        }
    }

    private function turn(Lock $lock): void
    {
        $got = $lock->acquireWaiting(30);
        if (!$got->yes) {
            $this->append('failures', "acquire: $got->said\n");
            return;
        }
        if (!$this->first('inside')) {
            $this->append('overlaps', '.');
        }
        usleep(1000); // long enough for another caller to come in, if it may
        @unlink("$this->dir/inside");
        $left = $lock->release();
        $this->append($left->yes ? 'done' : 'failures', $left->yes ? '.' : "release: $left->said\n");
    }

    /** Reports whether this caller is the one that makes the file. */
    private function first(string $file): bool
    {
        $made = @fopen("$this->dir/$file", 'x');
        return $made !== false && fclose($made);
    }

    private function append(string $file, string $text): void
    {
        file_put_contents("$this->dir/$file", $text, FILE_APPEND);
    }
}

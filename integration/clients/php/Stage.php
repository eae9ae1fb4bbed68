<?php

declare(strict_types=1);

/**
 * One run of a scenario against one server: its lock name, its callers, and what
 * they saw in words that are the same in every run.
 */
final class Stage
{
    public const LONG = 10.0;

    /** The first TTL of a lock that is extended: a slow machine must do that within it. */
    public const EXTENDED = 1.5;

    /** A server looks at its clock once per turn of its loop. */
    public const CLOCK_STEP = 0.01;

    public readonly string $name;

    /** @var list<string> */
    public array $seen = [];

    /** @var list<string> */
    public array $faults = [];

    /** @var array<string, Client> */
    private array $clients = [];

    public function __construct(public readonly Library $library, public readonly Endpoint $at)
    {
        $this->name = 'lock:' . bin2hex(random_bytes(12));
    }

    public function lock(string $who, float $ttl = self::LONG): Lock
    {
        return $this->client($who)->lock($this->name, $ttl);
    }

    /** A lock that is meant to lapse. */
    public function shortLock(string $who): Lock
    {
        return $this->lock($who, $this->library->shortest());
    }

    private function client(string $who): Client
    {
        return $this->clients[$who] ??= $this->library->connect($this->at);
    }

    /** Waits until a TTL is over, on every clock; without one, the shortest. */
    public function lapse(?float $ttl = null): void
    {
        usleep((int) ((($ttl ?? $this->library->shortest()) + 0.2) * 1e6));
    }

    /** Calls, and notes the answer, or the exception in its place. */
    public function note(string $who, callable $call): bool
    {
        try {
            $answer = $call();
            $this->add($who, $answer->said);
            return $answer->yes;
        } catch (NotOffered $e) {
            throw $e;
        } catch (Throwable $e) {
            $this->add($who, self::describe($e));
            return false;
        }
    }

    /** Like note, and it is a fault if the answer is not what the scenario asks for. */
    public function expect(bool $want, string $who, callable $call): void
    {
        if ($this->note($who, $call) !== $want) {
            $this->fault("$who wanted " . ($want ? 'yes' : 'no'));
        }
    }

    public function extendIfOffered(string $who, Lock $lock): void
    {
        try {
            $this->expect(true, $who, fn () => $lock->extend(self::LONG));
        } catch (NotOffered) {
            // then only the release shows whether the lock is still its owner's
        }
    }

    public function add(string $who, string $what): void
    {
        $this->seen[] = $who . ' ' . str_replace($this->name, 'LOCK', $what);
    }

    public function fault(string $what): void
    {
        $this->faults[] = str_replace($this->name, 'LOCK', $what);
    }

    /** The class that the caller would catch, and the words of the cause. */
    public static function describe(Throwable $e): string
    {
        $cause = $e->getPrevious();
        return $e::class . ': ' . $e->getMessage() . ($cause ? ' < ' . self::describe($cause) : '');
    }

    /** Lets every driver notice that its connection is gone. */
    public function reconnect(): void
    {
        foreach ($this->clients as $client) {
            for ($try = 0;; $try++) {
                try {
                    $client->ping();
                    break;
                } catch (RedisException | Predis\Connection\ConnectionException $e) {
                    if ($try === 200) {
                        throw $e;
                    }
                    usleep(50_000);
                }
            }
        }
    }

    /** Asks the runner for a fault of the proxy. */
    public static function control(string $path): void
    {
        $options = ['http' => ['method' => 'POST', 'content' => '', 'ignore_errors' => true, 'timeout' => 60]];
        $body = file_get_contents(getenv('CONTROL_URL') . $path, false, stream_context_create($options));
        if (!str_contains($http_response_header[0] ?? '', ' 200 ')) {
            throw new RuntimeException("POST $path: " . ($http_response_header[0] ?? 'no answer') . " $body");
        }
    }

    public function __toString(): string
    {
        $seen = implode(', ', $this->seen);
        return $this->faults === [] ? $seen : "$seen; at fault: " . implode(', ', $this->faults);
    }
}

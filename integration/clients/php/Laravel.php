<?php

declare(strict_types=1);

use Illuminate\Cache\RedisLock;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Redis\Connections\Connection;
use Illuminate\Redis\Connections\PhpRedisConnection;
use Illuminate\Redis\Connections\PredisConnection;

/** Laravel's RedisLock over either driver. Its TTLs are whole seconds. */
final class Laravel extends Library
{
    public function __construct(private bool $predis)
    {
    }

    public function name(): string
    {
        return 'Illuminate RedisLock (' . ($this->predis ? 'Predis' : 'phpredis') . ')';
    }

    public function version(): string
    {
        return debianVersion('php-illuminate-cache');
    }

    public function shortest(): float
    {
        return 1;
    }

    public function connect(Endpoint $at): Client
    {
        if ($this->predis) {
            return new LaravelClient(new PredisConnection(PredisPlain::open($at)));
        }
        $open = fn () => PhpRedisPlain::open($at);
        return new LaravelClient(new PhpRedisConnection($open(), $open));
    }
}

final class LaravelClient implements Client
{
    public function __construct(private Connection $connection)
    {
    }

    public function lock(string $name, float $ttl): Lock
    {
        return new LaravelLock(new RedisLock($this->connection, $name, (int) $ttl));
    }

    public function ping(): void
    {
        $this->connection->command('ping');
    }
}

final class LaravelLock extends Lock
{
    public function __construct(private RedisLock $lock)
    {
        $lock->betweenBlockedAttemptsSleepFor(10);
    }

    public function acquire(): Answer
    {
        return Answer::of($this->lock->get());
    }

    public function release(): Answer
    {
        return Answer::of($this->lock->release());
    }

    public function acquireWaiting(int $atMost): Answer
    {
        try {
            return Answer::of($this->lock->block($atMost));
        } catch (LockTimeoutException) {
            return new Answer(false, 'LockTimeoutException');
        }
    }
}

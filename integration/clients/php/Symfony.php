<?php

declare(strict_types=1);

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\LockInterface;
use Symfony\Component\Lock\Store\RedisStore;

/** Symfony's lock is a sorted set since 5.2; no quorum of strings can be one. */
final class Symfony extends Library
{
    public function name(): string
    {
        return 'Symfony Lock RedisStore';
    }

    public function version(): string
    {
        return debianVersion('php-symfony-lock');
    }

    public function refused(): bool
    {
        return true;
    }

    public function connect(Endpoint $at): Client
    {
        return new SymfonyClient($at);
    }
}

final class SymfonyClient implements Client
{
    private Redis $redis;
    private LockFactory $factory;

    public function __construct(Endpoint $at)
    {
        $this->redis = PhpRedisPlain::open($at);
        $this->factory = new LockFactory(new RedisStore($this->redis));
    }

    public function lock(string $name, float $ttl): Lock
    {
        return new SymfonyLock($this->factory->createLock($name, $ttl, false));
    }

    public function ping(): void
    {
        $this->redis->ping();
    }
}

final class SymfonyLock extends Lock
{
    public function __construct(private LockInterface $lock)
    {
    }

    public function acquire(): Answer
    {
        return Answer::of($this->lock->acquire());
    }

    public function release(): Answer
    {
        $this->lock->release();
        return Answer::done();
    }

    public function extend(float $ttl): Answer
    {
        $this->lock->refresh($ttl);
        return Answer::done();
    }

    public function query(): string
    {
        return 'acquired ' . json_encode($this->lock->isAcquired());
    }
}

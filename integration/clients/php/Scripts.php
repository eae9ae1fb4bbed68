<?php

declare(strict_types=1);

/** The scripts of somebody who uses a driver without a lock library. */
final class Scripts
{
    public const RELEASE = <<<'LUA'
        if redis.call('GET', KEYS[1]) == ARGV[1] then
          return redis.call('DEL', KEYS[1])
        end
        return 0
        LUA;

    public const EXTEND = <<<'LUA'
        if redis.call('GET', KEYS[1]) == ARGV[1] then
          return redis.call('PEXPIRE', KEYS[1], ARGV[2])
        end
        return 0
        LUA;
}

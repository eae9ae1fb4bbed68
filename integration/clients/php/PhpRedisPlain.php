<?php

declare(strict_types=1);

/** phpredis: SET with PX and NX, and scripts by EVALSHA with EVAL behind it. */
final class PhpRedisPlain extends Library
{
    public function name(): string
    {
        return 'phpredis, plain scripts';
    }

    public function version(): string
    {
        return phpversion('redis');
    }

    public function connect(Endpoint $at): Client
    {
        return new PhpRedisClient($at);
    }

    public static function open(Endpoint $at): Redis
    {
        $redis = new Redis();
        $redis->connect($at->host, $at->port, 5.0);
        return $redis;
    }
}

final class PhpRedisClient implements Client
{
    private Redis $redis;

    public function __construct(Endpoint $at)
    {
        $this->redis = PhpRedisPlain::open($at);
    }

    public function lock(string $name, float $ttl): Lock
    {
        return new PhpRedisLock($this->redis, $name, $ttl);
    }

    public function ping(): void
    {
        $this->redis->ping();
    }
}

final class PhpRedisLock extends Lock
{
    private string $token;

    public function __construct(private Redis $redis, private string $key, private float $ttl)
    {
        $this->token = bin2hex(random_bytes(16));
    }

    public function acquire(): Answer
    {
        return Answer::of($this->redis->set($this->key, $this->token, ['NX', 'PX' => (int) ($this->ttl * 1000)]));
    }

    public function release(): Answer
    {
        return Answer::of($this->run(Scripts::RELEASE, [$this->token]));
    }

    public function extend(float $ttl): Answer
    {
        return Answer::of($this->run(Scripts::EXTEND, [$this->token, (int) ($ttl * 1000)]));
    }

    public function query(): string
    {
        $mine = json_encode($this->redis->get($this->key) === $this->token);
        $left = round($this->redis->pttl($this->key) / 1000);
        return "mine $mine, exists {$this->redis->exists($this->key)}, seconds left $left";
    }

    /** This driver returns false for an error, and keeps its text. */
    private function run(string $script, array $args): mixed
    {
        $this->redis->clearLastError();
        $reply = $this->redis->evalSha(sha1($script), [$this->key, ...$args], 1);
        if (str_starts_with((string) $this->redis->getLastError(), 'NOSCRIPT')) {
            $this->redis->clearLastError();
            $reply = $this->redis->eval($script, [$this->key, ...$args], 1);
        }
        if ($this->redis->getLastError() !== null) {
            throw new RuntimeException($this->redis->getLastError());
        }
        return $reply;
    }
}

<?php

declare(strict_types=1);

/** Predis: SET with PX and NX, and scripts by EVALSHA with EVAL behind it. */
final class PredisPlain extends Library
{
    public function name(): string
    {
        return 'Predis, plain scripts';
    }

    public function version(): string
    {
        return Predis\Client::VERSION;
    }

    public function connect(Endpoint $at): Client
    {
        return new PredisClient($at);
    }

    public static function open(Endpoint $at): Predis\Client
    {
        return new Predis\Client(['host' => $at->host, 'port' => $at->port]);
    }
}

final class PredisClient implements Client
{
    private Predis\Client $redis;

    public function __construct(Endpoint $at)
    {
        $this->redis = PredisPlain::open($at);
    }

    public function lock(string $name, float $ttl): Lock
    {
        return new PredisLock($this->redis, $name, $ttl);
    }

    public function ping(): void
    {
        $this->redis->ping();
    }
}

final class PredisLock extends Lock
{
    private string $token;

    public function __construct(private Predis\Client $redis, private string $key, private float $ttl)
    {
        $this->token = bin2hex(random_bytes(16));
    }

    public function acquire(): Answer
    {
        return Answer::of($this->redis->set($this->key, $this->token, 'PX', (int) ($this->ttl * 1000), 'NX'));
    }

    public function release(): Answer
    {
        return Answer::of($this->run(Scripts::RELEASE, $this->token));
    }

    public function extend(float $ttl): Answer
    {
        return Answer::of($this->run(Scripts::EXTEND, $this->token, (int) ($ttl * 1000)));
    }

    public function query(): string
    {
        $mine = json_encode($this->redis->get($this->key) === $this->token);
        $left = round($this->redis->pttl($this->key) / 1000);
        return "mine $mine, exists {$this->redis->exists($this->key)}, seconds left $left";
    }

    private function run(string $script, string|int ...$args): mixed
    {
        try {
            return $this->redis->evalsha(sha1($script), 1, $this->key, ...$args);
        } catch (Predis\Response\ServerException $e) {
            if ($e->getErrorType() !== 'NOSCRIPT') {
                throw $e;
            }
            return $this->redis->eval($script, 1, $this->key, ...$args);
        }
    }
}

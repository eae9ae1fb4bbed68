<?php

declare(strict_types=1);

// What an adapter for a lock library has to offer. An adapter adds no behaviour
// of its own: an answer is what the library said. Times are in seconds.

/** One of the two servers; faults can be asked for with the proxy only. */
final class Endpoint
{
    public function __construct(
        public readonly string $host,
        public readonly int $port,
        public readonly bool $faults,
    ) {
    }
}

/** A library in one of its modes: a row of the table. */
abstract class Library
{
    abstract public function name(): string;

    abstract public function version(): string;

    /** A client of its own, as in another process. */
    abstract public function connect(Endpoint $at): Client;

    /** The shortest TTL that the library takes. */
    public function shortest(): float
    {
        return 0.3;
    }

    /** Whether the proxy is meant to refuse the first command, clearly. */
    public function refused(): bool
    {
        return false;
    }
}

interface Client
{
    /** A lock object with a token of its own; nothing is sent yet. */
    public function lock(string $name, float $ttl): Lock;

    /** A harmless command by way of the driver, which connects again if it has to. */
    public function ping(): void;
}

abstract class Lock
{
    /** Tries once, without waiting. */
    abstract public function acquire(): Answer;

    abstract public function release(): Answer;

    public function extend(float $ttl): Answer
    {
        throw new NotOffered('has no call that extends a lock');
    }

    /** All questions that the library answers about the lock, in one line. */
    public function query(): string
    {
        throw new NotOffered('has no question about a lock');
    }

    /** Waits for the lock; a library that cannot wait is asked again and again. */
    public function acquireWaiting(int $atMost): Answer
    {
        $giveUp = microtime(true) + $atMost;
        while (true) {
            $answer = $this->acquire();
            if ($answer->yes || microtime(true) > $giveUp) {
                return $answer;
            }
            usleep(random_int(5_000, 20_000));
        }
    }
}

/** What the library said, and whether that means yes. */
final class Answer
{
    public function __construct(public readonly bool $yes, public readonly string $said)
    {
    }

    public static function of(mixed $value): Answer
    {
        return new Answer((bool) $value, is_object($value) ? (string) $value : json_encode($value));
    }

    /** For a call without a result: it returned. */
    public static function done(): Answer
    {
        return new Answer(true, 'done');
    }
}

/** The library has no such operation. */
final class NotOffered extends Exception
{
}

/** The upstream version of a Debian package, without the part that Debian's updates change. */
function debianVersion(string $package): string
{
    $version = exec('dpkg-query -W -f ' . escapeshellarg('${source:Upstream-Version}') . ' ' . escapeshellarg($package));
    return implode('.', array_slice(explode('.', $version), 0, 2));
}

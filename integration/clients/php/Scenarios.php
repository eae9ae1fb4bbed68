<?php

declare(strict_types=1);

/** The scenarios, as ../README.md describes them. */
final class Scenarios
{
    /** @return array<string, callable(Stage): void> */
    public static function all(): array
    {
        return [
            'acquire-free' => self::acquireFree(...),
            'acquire-held' => self::acquireHeld(...),
            'release-own' => self::releaseOwn(...),
            'release-other' => self::releaseOther(...),
            'release-after-lapse' => self::releaseAfterLapse(...),
            'extend-own' => self::extendOwn(...),
            'extend-after-lapse' => self::extendAfterLapse(...),
            'query-owned' => self::queryOwned(...),
            'lapse-hands-over' => self::lapseHandsOver(...),
            'contention' => fn (Stage $s) => (new Contention($s, 8, 50))->run(fn () => null),
            'master-killed' => self::masterKilled(...),
            'proxy-restarted' => self::proxyRestarted(...),
        ];
    }

    public static function acquireFree(Stage $s): void
    {
        $s->expect(true, 'A acquires:', fn () => $s->lock('A')->acquire());
        $raw = PhpRedisPlain::open($s->at);
        $s->expect(true, 'a TTL is set:', fn () => Answer::of($raw->pttl($s->name) > 0));
    }

    private static function acquireHeld(Stage $s): void
    {
        $s->expect(true, 'A acquires:', fn () => $s->lock('A')->acquire());
        $s->expect(false, 'B acquires:', fn () => $s->lock('B')->acquire());
    }

    private static function releaseOwn(Stage $s): void
    {
        $a = $s->lock('A');
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->expect(true, 'A releases:', fn () => $a->release());
        $s->expect(true, 'B acquires:', fn () => $s->lock('B')->acquire());
    }

    private static function releaseOther(Stage $s): void
    {
        $s->expect(true, 'A acquires:', fn () => $s->lock('A')->acquire());
        $s->expect(false, 'B releases:', fn () => $s->lock('B')->release());
        $s->expect(false, 'C acquires:', fn () => $s->lock('C')->acquire());
    }

    private static function releaseAfterLapse(Stage $s): void
    {
        $a = $s->shortLock('A');
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->lapse();
        $s->note('A releases:', fn () => $a->release());
        $s->expect(true, 'B acquires:', fn () => $s->lock('B')->acquire());
    }

    private static function extendOwn(Stage $s): void
    {
        $a = $s->lock('A', Stage::EXTENDED);
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->expect(true, 'A extends:', fn () => $a->extend(Stage::LONG));
        $s->lapse(Stage::EXTENDED);
        $s->expect(false, 'B acquires:', fn () => $s->lock('B')->acquire());
    }

    private static function extendAfterLapse(Stage $s): void
    {
        $a = $s->shortLock('A');
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->lapse();
        $s->note('A extends:', fn () => $a->extend(Stage::LONG));
        $s->note('B acquires:', fn () => $s->lock('B')->acquire());
    }

    private static function queryOwned(Stage $s): void
    {
        $a = $s->lock('A');
        $s->add('before:', $a->query());
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->add("A's view:", $a->query());
        $s->add("B's view:", $s->lock('B')->query());
        $s->expect(true, 'A releases:', fn () => $a->release());
        $s->add('after:', $a->query());
    }

    private static function lapseHandsOver(Stage $s): void
    {
        $a = $s->shortLock('A');
        $b = $s->lock('B');
        $ttl = $s->library->shortest();
        $start = hrtime(true);
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->expect(true, 'B acquires in the end:', fn () => $b->acquireWaiting(5));
        $waited = (hrtime(true) - $start) / 1e9;
        $s->expect(true, 'not too early:', fn () => Answer::of($waited > $ttl - Stage::CLOCK_STEP));
        $s->expect(true, 'within two seconds:', fn () => Answer::of($waited < $ttl + 2));
    }

    private static function masterKilled(Stage $s): void
    {
        $rounds = new Contention($s, 8, 25);
        if (!$s->at->faults) {
            $rounds->run(fn () => null);
            return;
        }
        try {
            $rounds->run(fn () => Stage::control('/kill-master'));
        } finally {
            Stage::control('/heal');
        }
    }

    private static function proxyRestarted(Stage $s): void
    {
        $a = $s->lock('A');
        $b = $s->lock('B');
        $s->expect(true, 'A acquires:', fn () => $a->acquire());
        $s->expect(false, 'B acquires:', fn () => $b->acquire());
        $s->extendIfOffered('A extends:', $a);
        if ($s->at->faults) {
            Stage::control('/restart-proxy');
        }
        $s->reconnect();
        $s->extendIfOffered('A extends again:', $a);
        $s->expect(false, 'B acquires again:', fn () => $b->acquire());
        $s->expect(true, 'A releases:', fn () => $a->release());
        $s->expect(true, 'B acquires the free lock:', fn () => $b->acquire());
        $s->expect(true, 'B releases:', fn () => $b->release());
    }
}

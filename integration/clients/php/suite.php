<?php

declare(strict_types=1);

// Runs every library through every scenario, against the plain server and the
// proxy, and prints a line for each. See ../README.md.

error_reporting(E_ALL & ~E_DEPRECATED); // Debian's libraries are older than its PHP

require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';
require 'Predis/autoload.php';
require 'Symfony/Component/Lock/autoload.php';
foreach (['Library', 'Scripts', 'PhpRedisPlain', 'PredisPlain', 'Laravel', 'Symfony', 'Stage', 'Contention', 'Scenarios'] as $file) {
    require __DIR__ . "/$file.php";
}

function endpoint(string $which, bool $faults): Endpoint
{
    return new Endpoint(getenv("{$which}_HOST"), (int) getenv("{$which}_PORT"), $faults);
}

/** @return array{string, string} the result and its detail */
function compare(Library $library, callable $scenario): array
{
    try {
        $one = perform($library, $scenario, endpoint('PLAIN', false));
        $many = perform($library, $scenario, endpoint('PROXY', true));
    } catch (NotOffered $e) {
        return ['unsupported', 'library: ' . $e->getMessage()];
    }
    $same = $one->seen === $many->seen && $one->faults === [] && $many->faults === [];
    return $same ? ['pass', ''] : ['differs', "proxy: $many; plain: $one"];
}

function perform(Library $library, callable $scenario, Endpoint $at): Stage
{
    $stage = new Stage($library, $at);
    try {
        $scenario($stage);
    } catch (NotOffered $e) {
        throw $e;
    } catch (Throwable $e) {
        $stage->fault(Stage::describe($e));
    }
    return $stage;
}

/** The proxy must say no at the first command that takes the lock. */
function refusal(Library $library): array
{
    $first = perform($library, Scenarios::acquireFree(...), endpoint('PROXY', true))->seen[0] ?? 'nothing';
    return [str_contains($first, 'ERR ') ? 'unsupported' : 'differs', "proxy: $first"];
}

foreach ([new PhpRedisPlain(), new PredisPlain(), new Laravel(false), new Laravel(true), new Symfony()] as $library) {
    foreach (Scenarios::all() as $name => $scenario) {
        [$result, $detail] = $library->refused() ? refusal($library) : compare($library, $scenario);
        echo json_encode([
            'language' => 'php',
            'library' => $library->name(),
            'version' => $library->version(),
            'scenario' => $name,
            'result' => $result,
            'detail' => $detail,
        ], JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";
    }
}

package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// pitfall is a kind of fault that users of other lock libraries, proxies and
// servers have met, and which tests look for it here. It is the kind that
// counts, not the one input of whoever reported it.
type pitfall struct {
	number int
	what   string // what happened to others, and what is to happen here
	origin string // where it was reported or measured
	tests  string // directories, each followed by the functions in it
}

// scenario marks a scenario of the client suites among the tests: each language
// in clients has it, with real lock libraries.
const scenario = "scenario:"

var pitfalls = []pitfall{
	// Deciding.
	{1, "one dead master fails every acquire; here a majority is enough, and without one it is an error, never nil",
		"redlock-rb #60, #129",
		"integration TestOneMasterGoneIsNotNoticed TestNoMajorityIsAnErrorAndNeverHeld; redlock TestTwoDeadMastersAreAnErrorAtOnceNotNil; scenario:master-killed"},
	{2, "a master's name that does not resolve is fatal; here the others serve, it is shown, and tried again",
		"node-redlock #262",
		"integration TestAMasterWhoseNameDoesNotResolve"},
	{3, "the slowest master is waited for; here acquire, extend and release are answered at the decisive vote",
		"redsync #140; measured: 5 s with one of three masters stopped",
		"integration TestASlowMasterIsNotWaitedFor TestAMasterTwoSecondsLate TestAHungMasterCostsLittle; redlock TestAcquireAnswersAtTheDecisiveVote TestADecisionNeverChangesWithLaterVotes"},
	{4, "a master that lost its data gives a lock away that rests on it; here it does not vote until it has the locks again",
		"redsync #186",
		"integration TestAMasterThatLostItsLocksGetsThemBack TestAMasterWithoutPeersStaysOut TestARollingRestartOfTheMasters; redlock TestSimulation"},
	{5, "slow masters are cut off, so that a lock rests on a bare majority; here they get their copy all the same",
		"redsync, fail-fast",
		"integration TestALateMasterHoldsTheLockSoon TestASlowMasterIsNotWaitedFor"},
	{6, "contenders retry in step and nobody wins; here one does, soon, and never two",
		"redsync #67, RedLock.net PR #60",
		"integration TestSimultaneousContenders TestTwoProxiesNeverHaveTwoWinners; redlock TestOneOfManySimultaneousContendersWins; scenario:contention"},
	{7, "a lock's time is counted from the first try; here from the one that won",
		"node-redlock #169",
		"redlock TestValidityCountsFromTheWinningTry TestValidityOfAKeeperCountsFromItsFirstCopy TestAGrantClaimedTooLateIsUndoneAndTriedAgain"},
	{8, "elapsed time is read off the wall clock; here setting the clock of the proxy's host changes nothing",
		"several libraries",
		"integration TestTheProxysClockMayStep"},
	{9, "replicas and cluster nodes as masters; here their refusals are failed votes and the master is named with the reason",
		"RedLock.net #91, #11",
		"integration TestUnfitMastersAreNamedAndDoNotVote TestEveryWordOfRefusalIsAFailedVote; redlock TestAnswersOfAClusterAreFailedVotes TestServersThatAreNoMasterOfOursAreNamed"},
	{10, "granted after a wait without another look; here validity is checked when the reply is handed over",
		"etcd #11456",
		"redlock TestAGrantClaimedTooLateIsUndoneAndTriedAgain TestAGrantClaimedTooLateWithALaterCommandBehindItIsAnError; proxy TestLateGrantIsAnsweredWhenItIsDoneAgain TestGrantThatRunsOutInAFullSocketIsNotHandedOver; integration TestNoGrantThatIsOverAlready"},
	{11, "two masters say yes to two clients and swap their values; here no key ever has two tokens with a majority",
		"KeyDB #247",
		"integration TestTenThousandContendedLocks"},

	// Lost replies, late commands.
	{12, "a client library repeats SET NX after a lost reply and is denied by its own lock; here as by Redis, and two clients with one value never both win",
		"go-redis #2985",
		"integration TestTwoClientsWithTheSameValue; redlock TestUndoTouchesOnlyTheCopyOfThisAttempt"},
	{13, "a command whose reply got lost is executed twice; here it is unknown, never sent again, and given back",
		"redis-py #261, rueidis #919",
		"integration TestALostReplyIsUnknown TestALostGrantIsReleased"},
	{14, "the SET that timed out was executed after all; here the release goes to every master that may have it, and again after a reconnect",
		"redlock-rb #76, DistributedLock #191",
		"integration TestAReleaseReachesAMasterThatWasAway TestALostReplyIsUnknown TestALostGrantIsReleased; redlock TestUnansweredAcquireIsAnErrorAtTheDeadlineAndUndoneWhenItAnswers TestAReleaseThatAMasterMissedIsMadeUpFor"},
	{15, "SET and release on different connections leave orphans on a master that stalls; here no key is left",
		"measured: 39 of 60 locks orphaned",
		"integration TestNoOrphansAfterStops TestAcquireOfAClientThatHungUpIsGoneWithItsRelease; redlock TestWorkersKeepTheOrderOfAKey TestConnectionThatIsReplacedIsKilledFirst"},
	{16, "what was unanswered is sent again after a reconnect; here a second release answers 0 and harms nobody",
		"ioredis",
		"integration TestAReleaseThatIsSentAgain"},
	{17, "unlock retried after a lost reply; here 1, then 0",
		"redisson #6748, #6651",
		"integration TestAReleaseThatIsSentAgain TestKillLosesNoLock"},
	{18, "a crash between SETNX and EXPIRE, or no TTL at all, locks for ever; here no key without a TTL is stored on a master",
		"redis #4850, redis-py #554",
		"integration TestNoKeyWithoutATTL; resp TestMissingTTLBecomesTheDefault"},

	// Extending, releasing.
	{19, "an extend that compares the wrong type always works; here the answer is the script's own, in its own type",
		"redsync PR #61",
		"integration TestNoIsTheScriptsOwnNo TestNoMajorityIsAnErrorAndNeverHeld; redlock TestExtendMergesAnswers; resp TestScriptsAreLikeRealRedis"},
	{20, "expired is reported as taken; here absent and other are told apart as the script does",
		"redsync #144, #158",
		"integration TestNoIsTheScriptsOwnNo; resp TestScriptsAreLikeRealRedis; scenario:extend-after-lapse"},
	{21, "a master that restarted never gets the lock back, and the next restart loses it; here an extend gives it back",
		"redsync PR #147",
		"integration TestAnExtendGivesTheLockBack TestARollingRestartOfTheMasters; redlock TestAnExtendedLockIsGivenToMastersThatLackIt"},
	{22, "one yes and two timeouts are taken for no, which stops watchdogs; here it is an error",
		"DistributedLock, three outcomes",
		"integration TestNoMajorityIsAnErrorAndNeverHeld TestAFailedExtendLeavesTheLock; redlock TestExtendMergesAnswers TestDecide"},
	{23, "an extend brings a lock back that somebody else has had since; here only what a quorum still holds is repaired",
		"RedLock.net #48",
		"integration TestALockThatSomebodyHadInBetweenIsNotExtended; redlock TestAnExtendedLockIsGivenToMastersThatLackIt"},
	{24, "an additive extend runs away or diverges between masters; here one TTL is computed and set everywhere",
		"redis-py #629, redbeat #127",
		"integration TestAThousandAdditiveExtends TestAThousandExtendsByRedisPy; resp TestAdditiveExtendWritesOneTTL TestAdditiveExtendNeverShortens"},
	{25, "a failed extend deletes a lock that is still held; here it leaves the key and its TTL",
		"redsync PR #150",
		"integration TestAFailedExtendLeavesTheLock; redlock TestWhatChangesAKeyIsNotExecutedAfterItsDeadline"},
	{26, "releasing an expired lock retries or throws; here 0, at once",
		"node-redlock #65, #313",
		"integration TestAnExpiredLockIsReleasedAtOnce; scenario:release-after-lapse"},
	{27, "false without a reason; here whatever does not succeed is counted by its reason",
		"redsync #81",
		"integration TestEveryFailureIsCountedByItsReason TestEveryWordOfRefusalIsAFailedVote; proxy TestResultOfAnOperation"},

	// TTL and values.
	{28, "a TTL that is no integer, nought or negative; here Redis's own error",
		"node-redlock #120",
		"integration TestOptionsOfSetAreLikeRedis; resp TestParseIntTakesWhatRedisTakes TestCommandsAreLikeRealRedis"},
	{29, "a TTL that overflows; here no wrap, and a clear answer",
		"php-lock's default of a thousand years",
		"integration TestOptionsOfSetAreLikeRedis TestStoredTTLIsTheClientsPlusItsPadding; resp TestAnyTTLThatRedisAcceptsIsStoredWithoutWrapping; redlock TestEncodeSaturatesTTLs TestPadAddsDriftAndSlack"},
	{30, "a TTL below the allowance for drift; here never a grant that is over already",
		"Redlock's formula for validity",
		"integration TestNoGrantThatIsOverAlready TestAShortLockIsTheHoldersForItsTTL; redlock TestPadAddsDriftAndSlack"},
	{31, "tokens and keys that are binary, empty or long; here byte for byte",
		"redis-py #694",
		"integration TestTokensAndKeysAreByteExact TestPlainClients; resp TestArgumentsAreByteExact; redlock TestEncodeIsExactToTheByte"},
	{32, "options in any order and case, and those that exclude each other; here as Redis answers",
		"Redis's documentation of SET",
		"integration TestOptionsOfSetAreLikeRedis; resp TestCommandsAreLikeRealRedis TestSetIfEqualFollowsRedis84"},

	// Scripts.
	{33, "NOSCRIPT after a restart or in a pipeline; here only for what nobody has loaded, with Redis's text",
		"redlock-rb #148, ioredis PR #1497, StackExchange.Redis #2531",
		"integration TestScriptsOutliveTheMasters TestScriptsInPipelines; redlock TestForgottenScriptIsLoadedAgain TestAScriptThatMastersForgotIsLoadedAgainAtOnce; resp TestUnknownScriptIsAnsweredWithTheExactText; scenario:proxy-restarted"},
	{34, "SCRIPT LOAD and EXISTS are not answered by proxies; here they are",
		"envoy #17926, twemproxy #432",
		"integration TestScriptsInPipelines; resp TestLoadReturnsTheTrueSHA1 TestUnknownSHAsAreNotFound"},
	{35, "a library needs BLPOP; here it is refused with the reason, and the connection kept",
		"python-redis-lock #14",
		"integration TestUnservedCommandsKeepTheConnection; proxy TestRefusalsSayWhatToDo"},

	// Masters and connections.
	{36, "a hung master hangs its clients, deadlines or not; here every call is answered at its deadline, and goroutines are bounded",
		"rueidis #683, #36, #237",
		"integration TestThousandsInFlightWhenMastersHang TestAHungMasterCostsLittle TestStopUnderManyOperations; redlock TestNobodyIsToldLate TestEveryCallIsDeliveredWhenEverythingGoes TestQueuesAreBounded"},
	{37, "a half-open connection hangs for ten minutes; here lost packets are noticed in less than 2 s, and it heals alone",
		"lettuce #2082, ioredis #1932",
		"integration TestPacketsThatVanish TestALostNetworkIsNoticedAndHeals; redlock TestSilentNetworkIsNoticedAndHeals"},
	{38, "READONLY on a live connection after a failover; here a failed vote, and after a promotion one only when it is safe",
		"StackExchange.Redis #2264",
		"integration TestEveryWordOfRefusalIsAFailedVote TestAMasterThatBecomesAReplica TestAMasterThatLostItsLocksGetsThemBack; redlock TestDemotedMasterDoesNotVote"},
	{39, "a master that is loading, busy, out of memory or locked; here a failed vote, labelled by its reason",
		"Redis's error codes",
		"integration TestEveryWordOfRefusalIsAFailedVote TestAMasterWithoutMemory; redlock TestRefusedCommandsAreFailedByTheirCode TestErrorCode"},
	{40, "a restart that is faster than any health check, or a FLUSHALL; here no vote until it is safe",
		"Redlock's rule of delayed restarts",
		"integration TestAMasterThatLostItsLocksGetsThemBack TestAMasterWithoutPeersStaysOut; redlock TestRestartFasterThanAnyHealthCheck TestMasterThatRestartedEmptyGetsItsLocksBack"},
	{41, "masters that are one server; here nothing is served and both names are said",
		"redisson #1333",
		"integration TestUnfitMastersAreNamedAndDoNotVote TestTheSameAddressTwiceIsRefused; redlock TestMasterListedTwiceIsRefused"},
	{42, "keys expire by the wall clock; here a master whose clock steps does not vote until it has its locks again",
		"redis #416, valkey #2651",
		"integration TestAMasterWhoseClockStepsKeepsNobodysLock; redlock TestLinkCountsOnlyWhatIsCertain TestMasterWhoseClockSteppedVotesAgainAfterResynchronisation"},
	{43, "an old or managed Redis knows or allows less; here that is enough",
		"rueidis #612",
		"integration TestAnOldOrManagedRedis; redlock TestMasterThatForbidsLookingAround TestMastersWithoutRESP3WillDo"},

	// The front door.
	{44, "a few bytes crash or stall a server; here it lives, bounded, and others do not notice",
		"redcon",
		"integration TestHostileBytes TestOneCommandInAMillionWrites TestManyArgumentsInSmallPieces; resp TestFewBytesCostLittle TestFaultsAreAnsweredAsByRedis FuzzGuard"},
	{45, "before AUTH, large headers and unread replies eat memory; here the limits are small then",
		"CVE-2021-32675, CVE-2025-21605",
		"integration TestSmallLimitsBeforeAuth TestAClientThatNeverReads; resp TestMemoryBeforeLoginIsBounded TestFewBytesBeforeLoginCostLittle; proxy TestClientThatNeverReadsIsBoundedAndCutOff"},
	{46, "a shutdown cuts connections; here each acquire in flight gets its reply, or its key is released",
		"redcon #43",
		"integration TestShutdownFinishesWhatIsInFlight; proxy TestShutdownAnswersWhatIsInFlight"},
	{47, "HELLO, CLIENT SETINFO, ROLE or INFO are refused and clients do not start; here they are answered",
		"envoy #17571, #40462",
		"integration TestRedisCLIHandshakes TestDotnetHandshakes TestPlainClients; proxy TestClientsGetThroughTheirHandshake TestUtilityReplies; scenario:acquire-free"},
	{48, "locks are released by WATCH, GET, MULTI, DEL, EXEC; here that works, and EXEC is nil when the value changed",
		"StackExchange.Redis #2862, #2683",
		"integration TestDotnetLocksByTransactions TestDotnetTransactionIsVoidWhenTheLockChanged; proxy TestExchangesOfStackExchangeRedis TestTransactionsEqualRedis TestSameValueTakenAgainIsNotReleased"},
	{49, "waiters wake together and overrun the servers; here one wins, a hundred tries are ten commands at a master at most, and other locks are served",
		"CURATOR-716",
		"integration TestAThousandPollersOfOneLock TestCallersNeverHoldOneLockAtOnce"},
	{50, "one master is read, which says nothing; here reads are of a majority, and so is the TTL they show",
		"redsync #72",
		"integration TestReadsAreOfAMajority; redlock TestReadShowsTheQthLargestTTLWithoutPadding TestReadIsRepeatedWhileTheAnswersDoNotDecide; scenario:query-owned"},
}

// TestEveryPitfallHasItsTests: the list is complete and its tests exist.
func TestEveryPitfallHasItsTests(t *testing.T) {
	known := testsOf(t, "..")
	for i, p := range pitfalls {
		if p.number != i+1 || p.what == "" || p.origin == "" {
			t.Errorf("entry %d has the number %d, it says %q of %q", i+1, p.number, p.what, p.origin)
		}
		named := 0
		for part := range strings.SplitSeq(p.tests, ";") {
			words := strings.Fields(part)
			if len(words) == 1 && strings.HasPrefix(words[0], scenario) {
				words = []string{scenario, strings.TrimPrefix(words[0], scenario)}
			}
			if len(words) < 2 {
				t.Errorf("pitfall %d: %q names no test", p.number, part)
				continue
			}
			for _, test := range words[1:] {
				if named++; !known[words[0]][test] {
					t.Errorf("pitfall %d: there is no %s in %s", p.number, test, words[0])
				}
			}
		}
		if named == 0 {
			t.Errorf("pitfall %d has no test", p.number)
		}
	}
	if len(pitfalls) != 50 {
		t.Errorf("%d pitfalls, want 50", len(pitfalls))
	}
}

// testsOf finds the test functions below root, by directory, and the scenarios
// of the client suites.
func testsOf(t *testing.T, root string) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{scenario: scenarios(t)}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if found[dir] == nil {
			found[dir] = make(map[string]bool)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				found[dir][f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// scenarios are those that the runner of the client suites wants of each
// language: the strings of its variable of that name.
func scenarios(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "clients/run/result.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	ast.Inspect(file.Scope.Lookup("scenarios").Decl.(ast.Node), func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			names[strings.Trim(lit.Value, `"`)] = true
		}
		return true
	})
	return names
}

package mutants_test

// mutants are careless versions of the engine: of the lease, of commits and what they leave, of follow-ups, of undo and of the
// safety limits.
var mutants = []mutant{
	// The lease.
	{"a lease that somebody holds is taken", "Acquire", `a.Now.Before(r.Until)`, `a.Now.After(r.Until)`, "TestTwoRunsAtOnce"},
	{"a lease that ended is not taken", "Acquire", `a.Now.Before(r.Until)`, `true`, "TestLeaseOfDeadRun"},
	{"a run whose answer was lost takes its lease for another's", "Acquire", `r.Holder != a.Who && a.Now`, `a.Now`, "TestLostAnswersOfTheLease"},
	{"a lease that no run can hold is skipped", "leased", `a.Longest > 0 &&`, `false &&`, "TestLeaseThatNoRunCanHold"},
	{"a lease is given back by who lost it", "Release", `!s.HeldBy(g.Who, g.Range)`, `false`, "TestRunThatLostItsLease"},
	{"a run whose answer was lost takes its lease for lost", "Released", `s.Ranges[i].Ended.Run == who`, `false`, "TestLostAnswerToTheLastCommit"},
	{"a lease that ended is renewed", "Renew", `|| !now.Before(r.Until)`, ``, "state.TestUndo"},
	{"a task continues another run", "Acquire", `t.Run != s.Run ||`, ``, "TestTasksThatContinueNothing"},
	{"a task continues what was continued", "Acquire", `!r.Ended.Left || a.Task.Token != r.Ended.Run && a.Task.Token != r.Ended.Token`, `false`, "TestContinuesOnce"},
	{"a task continues however late it comes", "Acquire", `a.Within > 0 &&`, `false &&`, "TestTaskThatComesDaysLate"},
	{"who woke up deletes what it looked at before", "inTime", `d.over(d.begun.Add(d.timeout))`, `false`, "TestSleepBeforeDocumentsGo"},
	{"a chain goes on after a stop", "willContinue", `r.Report.Stopped ||`, ``, "TestStopEndsAChain"},
	{"a task continues a run that was stopped", "Release", `!g.Report.Stopped && (`, `(`, "TestTasksThatContinueNothing"},

	// What a run reserves.
	{"nothing is reserved", "Reserve", `s.Ranges[i].Reserved = n`, `s.Ranges[i].Reserved = 0`, "TestLimitHoldsForRunsThatAreKilled"},
	{"what is reserved does not count", "Spent", `n += r.Reserved`, `n += 0`, "TestLimitCountsShardsThatRunAtOnce"},
	{"what was done does not count", "Spent", `n += r.Done; i != but`, `n += 0; i != but`, "TestLimitHoldsForAllThatContinues"},
	{"what a killed shard reserved is forgotten", "Acquire", `r.closed(r.Reserved)`, `r.closed(0)`, "TestKilledCall"},
	{"MAX_ACTIONS holds for each shard alone", "reserveOf", `limits.Done = spent`, `limits.Done = 0 * spent`, "TestLimitCountsShardsThatRunAtOnce/one_plans"},
	{"an earlier run of the same time does not count", "begin", `s.Earlier = earlier`, `s.Earlier = 0 * earlier`, "TestLimitHoldsForRunsThatAreKilled"},
	{"missing ids count for each shard alone", "Reserve", `check(s.Spent(i), s.Looked())`, `check(s.Spent(i), looking)`, "TestMissingIDsCountForAllShards"},

	// Commits, and what they leave.
	{"a commit whose answer was lost is made again", "commitLogged", `if took > 0 {`, `if false {`, "TestLostAnswersOfGroups"},
	{"its answer is looked for in Todo alone", "Took", `e.done(0), e.Todo()`, `e.Todo()`, "TestLostAnswersTold"},
	{"its answer is looked for in Done alone", "Took", `e.done(0), e.Todo()`, `e.done(0)`, "TestLostAnswersWithoutUndo"},
	{"a commit leaves no records", "recordsOf", `records = append(records, record)`, `_ = record`, "functions.TestConform/checkGhostCircles"},
	{"objects are not saved for undo", "deleteFound", `open(ctx, records,`, `open(ctx, nil,`, "TestReplayIsTakenBack"},
	{"changed documents are not saved for undo", "recordsOf", `w.Op != documents.Create && !w.Sent`, `w.Op == documents.Delete`, "functions.TestConform/checkGhostCircles"},
	{"accounts are not saved for undo", "deletePeople", `open(ctx, records,`, `open(ctx, nil,`, "TestReplayIsTakenBack"},
	{"what stayed comes back by an undo", "stay", `len(places) == 0`, `true`, "TestObjectsThatChangeBetweenLookAndDeletion"},
	{"the reach of a change is not looked at", "beyond", `return beyond(rule.Reaches(), rule.Named(), item, c, d.Run.Config)`,
		`return nil`, "TestBeyondReach"},
	{"a rule that the job does not name commits", "beyond", `if rulesOf(d.Job)[rule.Named()] == nil {`, `if false {`, "TestARuleThatTheJobDoesNotName"},
	{"what is pinned is deleted", "KeptBy", `Pins.Keep(target):`, `Pins.Keep(target) && false:`, "TestWhatLeadsToSomethingPinnedIsKept"},
	{"what leads to something pinned is deleted", "change", `pinned != nil && o.Err == nil`, `pinned != nil && false`, "TestWhatLeadsToSomethingPinnedIsKept"},
	{"nobody looks ahead to later commits", "looksAhead", `!w.Looked`, `w.Looked`, "TestWhatLaterCommitsMeet"},

	// What follows a commit.
	{"a Todo goes although a follow-up failed", "follow", `if left == nil && !remembers`, `if !remembers`, "TestAnObjectUnderAHoldIsRememberedUntilItIsReleased"},
	{"a Todo stays although all of it is done", "follow", `Over(c.todo)`, `Over()`, "TestWorkerWhoseTodoStays"},
	{"an object that was uploaded again is deleted", "KeepsObject", `object.Created.After(at)`, `false`, "TestObjectsThatChangeBetweenRuns"},
	{"an object of another owner is deleted", "KeepsObject", `owner != o.Owner`, `owner == "?"`, "posts.TestDelete"},
	{"an object of no owner is deleted", "KeepsObject", `o.Marked && !named`, `false`, "posts.TestDelete"},
	{"absence is not looked at again before an object goes", "deleteObjects", `case slices.ContainsFunc(owners(d), func(ref documents.Ref) bool { return !missing[ref] }), named(d.Name):`, `case named(d.Name):`, "TestRestoredBetweenLookAndDeletion"},
	{"absence is not looked at again before an account goes", "deleteAccounts", `of[p].Recorded == nil && !slices`, `false && !slices`, "TestRestoredBetweenLookAndDeletion"},
	{"what is pinned goes as somebody left it to be deleted", "do", `case pinned != nil:`, `case false:`, "TestWhatAnInterruptedRunLeftIsKeptIfPinned"},
	{"a Todo that has changed is done", "doTodo", `case !found, !d.UpdateTime.Equal(planned.Updated):`, `case !found:`, "TestAnEntryThatChangesAfterItWasCounted"},
	{"each shard does the Todos of all", "planTodo", `todo.Shard%part.Shards != part.Number`, `false`, "TestTodosOfShards"},
	{"what a Todo holds does not count", "countTodo", `return max(0, n-1), nil`, `return 0, nil`, "TestReplayCountsAndShows"},
	{"a forged step of a Todo is done", "ReadTodo", `!follows(`, `false && !follows(`, "TestForgedEntriesNeverGoBeyondReach"},
	{"a forged item of a Todo is judged", "ReadTodo", `!Has(`, `false && !Has(`, "TestAnUnusableTodoIsAFailureOfItsOwn"},
	{"an account of another name follows", "follows", `f.Account == f.Absent.ID &&`, ``, "TestNobodyElsesAccountFollows"},
	{"a recorded account of another name follows", "beyond", `r.Account && f.Account == item.ID`, `r.Account`, "TestNobodyElsesAccountFollows"},

	// The safety limits.
	{"MAX_ACTIONS allows one more", "Check", `actions+b.Done > b.MaxActions`, `actions+b.Done > b.MaxActions+1`, "TestSafetyLimits"},
	{"what earlier calls did does not count for MAX_ACTIONS", "Check", `actions+b.Done > b.MaxActions`, `actions > b.MaxActions`, "TestLimitHoldsForAllThatContinues"},
	{"the percentage itself trips", "exceeds", `part*100 > percent*all`, `part*100 >= percent*all`, "TestSafetyLimits"},
	{"MIN_LOOKUPS itself is too few", "exceeds", `all >= b.MinLookups`, `all > b.MinLookups`, "TestSafetyLimits"},
	{"MAX_PER_OWNER itself trips", "trips", `n > limits.MaxPerOwner`, `n >= limits.MaxPerOwner`, "orphanedmedia.TestOneSentinelEmptiesNoCollection"},
	{"an empty collection is not looked at", "suspicious", `l.Asked > 0 &&`, `l.Asked < 0 &&`, "TestEmptyCollection"},
	{"an older database is not looked at", "trips", `u.cut(limits.MinLookups) &&`, `false &&`, "orphanedmedia.TestDatabaseRestoredFromABackup"},
	{"a field that nobody wrote is not looked at", "unwritten", `return len(others) == 0, nil`, `return false && len(others) == 0, nil`, "ghostcircles.TestAFieldThatNobodyWrites"},
}

package sweep

// DryRun reports whether the run only plans. It is for a planner that reads more in order to explain more; what it decides
// must not depend on it.
func (p *Planner) DryRun() bool { return p.run.report.DryRun }

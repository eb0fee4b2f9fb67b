package main

import "strings"

// advices say what to do about a failure, by what its text holds; docs/operations.md says more.
var advices = []struct{ holds, do string }{
	{"MAX_ACTIONS:", "Look at the whole plan: firesweep plan --force JOB. If it is right: firesweep run JOB --force."},
	{"MAX_MISSING_PERCENT:", "Make sure that the database is the right one and was not emptied. Only if so much is really gone: firesweep run JOB --force."},
	{"empty collection:", "Look into the database that the message names. Only if the collection is rightly empty: firesweep run JOB --force."},
	{"holds the lease until", "Run the request in the message: nothing will change by itself."},
	{"is not one that this program wrote", "Run the request in the message: nothing will change by itself."},
	{"PermissionDenied", "A role is missing: terraform plan shows which. Of your own credentials: see firesweep plan --help."},
	{"requires an index", "Wait until it is built, or make it with terraform apply. firesweep doctor shows which are missing."},
	{"wrong configuration", "Mend the variables that the message names, then terraform apply."},
	{"could not find default credentials", "Log in: gcloud auth application-default login."},
	{"quota project", "Say who is billed: gcloud auth application-default set-quota-project PROJECT."},
	{"out of time", "The next run goes on from there."},
}

// advise returns what to do about a failure, "" if its own text says all there is.
func advise(job, text string) string {
	for _, a := range advices {
		if strings.Contains(text, a.holds) {
			return strings.ReplaceAll(a.do, "JOB", job)
		}
	}
	return ""
}

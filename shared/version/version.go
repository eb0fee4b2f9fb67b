// Package version says which Firesweep this is.
package version

import (
	"runtime/debug"
	"slices"
	"strings"
)

// Release is the version in CHANGELOG.md that the source is of, or with -dev the one that it is on the way to. It stands in the
// source, because Google builds the functions from an archive that knows no git.
const Release = "0.1.0-dev"

// Lock is the version of lock files. A change of which rules are refused, or of what follows from them, raises its number:
// Terraform would otherwise take the file of an earlier commit of the same Release.
const Lock = Release + "/6"

// Page returns the address of a page of this version, such as docs/rules.md: whoever has only the program has no folder docs.
func Page(name string) string {
	return "https://github.com/firesweep/firesweep/blob/" + tag(Release) + "/" + name
}

// File returns the address of a file of this version for programs, which a page is not.
func File(name string) string {
	return "https://raw.githubusercontent.com/firesweep/firesweep/" + tag(Release) + "/" + name
}

// tag is where the repository has a version: one on the way is on main.
func tag(release string) string {
	if strings.HasSuffix(release, "-dev") {
		return "main"
	}
	return "v" + release
}

// String returns the version, with the one that Go gave to the program where it was built from a repository, which has the
// commit: 0.1.0-dev (v0.0.0-20260110150000-1a2b3c4d5e6f), and +dirty at its end where something was not committed.
func String() string {
	info, _ := debug.ReadBuildInfo()
	return with(info)
}

func with(info *debug.BuildInfo) string {
	if info == nil || slices.Contains([]string{"", "(devel)", "v" + Release}, info.Main.Version) {
		return Release
	}
	return Release + " (" + info.Main.Version + ")"
}

// Package firesweep is the deployed bundle: importing it registers every cleanup with the Functions Framework. Google's
// Go buildpack builds the package at the module's root.
package firesweep

import (
	// Google's Go buildpack looks for this import among those of this folder's files, and nowhere else. Without it, it takes
	// each entry point for a Go function of this package, and no function can be built.
	_ "github.com/GoogleCloudPlatform/functions-framework-go/functions"

	_ "github.com/firesweep/firesweep/functions/bannedusers"       // cleanupBannedUsers
	_ "github.com/firesweep/firesweep/functions/expiredcomped"     // cleanExpiredComped
	_ "github.com/firesweep/firesweep/functions/ghostcircles"      // checkGhostCircles
	_ "github.com/firesweep/firesweep/functions/inactiveprojects"  // deleteInactiveProjects, sendInactiveProjectWarning
	_ "github.com/firesweep/firesweep/functions/orphanedmedia"     // cleanupOrphanedMedia
	_ "github.com/firesweep/firesweep/functions/placeholderusers"  // cleanupPlaceholderUsers, deletePlaceholderUser
	_ "github.com/firesweep/firesweep/functions/resolvedinquiries" // cleanupResolvedInquiries
)

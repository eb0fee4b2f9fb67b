package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/storage/v1"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
)

// rights are the permissions in the roles of the functions' accounts. Firestore's are not among them: without these a run fails at its
// first request, before it has done anything.
var rights = map[string][]string{
	"firesweepObjectCleaner":  {"storage.objects.delete", "storage.objects.get", "storage.objects.list"},
	"firesweepAccountDeleter": {"firebaseauth.configs.get", "firebaseauth.users.delete", "firebaseauth.users.get"},
	"firesweepAccountReader":  {"firebaseauth.configs.get", "firebaseauth.users.get"},
}

// checkRights fails if the caller may not do what the jobs do after their documents are gone. What Google does not answer is said, and
// the run tells.
func (a *app) checkRights(ctx context.Context, jobs []manifest.Entry) error {
	for _, job := range jobs {
		cfg, err := a.settings(job, job.Uses()...)
		if err != nil || cfg.Emulators.Any() {
			return err
		}
		where := map[config.Backend]string{config.Storage: "bucket " + cfg.Bucket, config.Auth: "project " + cfg.Project}
		for _, backend := range []config.Backend{config.Storage, config.Auth} {
			on := where[backend]
			var lacks []string
			for _, role := range job.Roles[backend] {
				lacks = append(lacks, rights[role]...)
			}
			if len(lacks) == 0 {
				continue
			}
			has, err := a.rightsOn(ctx, backend, cfg, lacks)
			if err != nil {
				fmt.Fprintf(a.errs, "firesweep: it is not known whether you have the rights of %s on %s: %s\n", job.Name, on, apiError(err))
				continue
			}
			lacks = slices.DeleteFunc(lacks, func(right string) bool { return slices.Contains(has, right) })
			if len(lacks) > 0 {
				return fmt.Errorf("nothing was run: %s needs on %s what your credentials lack: %s", job.Name, on, strings.Join(lacks, ", "))
			}
		}
	}
	return nil
}

// rightsOn returns which of the permissions the caller has on the bucket, or on the project for another backend.
func (a *app) rightsOn(ctx context.Context, backend config.Backend, cfg config.Config, wanted []string) ([]string, error) {
	if backend == config.Storage {
		service, err := storage.NewService(ctx, a.google(ctx, "storage", cfg.Project)...)
		if err != nil {
			return nil, err
		}
		answer, err := service.Buckets.TestIamPermissions(cfg.Bucket, wanted).Context(ctx).Do()
		if err != nil {
			return nil, err
		}
		return answer.Permissions, nil
	}
	service, err := cloudresourcemanager.NewService(ctx, a.google(ctx, "cloudresourcemanager", cfg.Project)...)
	if err != nil {
		return nil, err
	}
	ask := &cloudresourcemanager.TestIamPermissionsRequest{Permissions: wanted}
	answer, err := service.Projects.TestIamPermissions(cfg.Project, ask).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	return answer.Permissions, nil
}

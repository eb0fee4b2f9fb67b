package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"

	"github.com/spf13/cobra"
	"google.golang.org/api/cloudscheduler/v1"
	"google.golang.org/api/googleapi"
)

func locationFlag(c *cobra.Command) *string {
	return c.Flags().String("location", "", "the `REGION` of Cloud Scheduler")
}

// deployedJobs returns the jobs of Cloud Scheduler in a project's region, by name, and what they are managed with.
func (a *app) deployedJobs(ctx context.Context, project, location string) (
	*cloudscheduler.ProjectsLocationsJobsService, map[string]*cloudscheduler.Job, error,
) {
	scheduler, err := cloudscheduler.NewService(ctx, a.google(ctx, "cloudscheduler", project)...)
	if err != nil {
		return nil, nil, fmt.Errorf("open Cloud Scheduler of %s: %w", project, err)
	}
	jobs, there := scheduler.Projects.Locations.Jobs, map[string]*cloudscheduler.Job{}
	parent := "projects/" + project + "/locations/" + location
	err = jobs.List(parent).Pages(ctx, func(page *cloudscheduler.ListJobsResponse) error {
		for _, job := range page.Jobs {
			there[path.Base(job.Name)] = job
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list the jobs of Cloud Scheduler in %s: %w", parent, apiError(err))
	}
	return jobs, there, nil
}

// apiError returns an error of Google's APIs in one line.
func apiError(err error) error {
	var api *googleapi.Error
	if errors.As(err, &api) && api.Message != "" {
		return fmt.Errorf("%d: %s", api.Code, api.Message)
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		return transport.Err
	}
	return err
}

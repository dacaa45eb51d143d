package cli

import (
	"context"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"

	"github.com/okstra/okstra/cmd/okstra/view"
)

// release is okstra's semantic version, however it was built; what it was built
// from is the revision. required_version is compared with it.
const release = "0.1.0"

// revision is the commit that make built from, with "-dirty" after it where the
// tree had changes. Without make the Go tool stamps the same into the program.
var revision string

func versionCommand() *command {
	return &command{
		name:  "version",
		group: groupOkstra,
		short: "show the version and how it was built",
		long:  `Shows okstra's version, the revision it was built from, the Go version and the platform.`,
		example: `okstra version
okstra version --json`,
		bind: func(*pflag.FlagSet) run {
			return func(_ context.Context, s *session, _ []string) error { return s.view.Version(buildVersion()) }
		},
	}
}

func buildVersion() view.Version {
	v := view.Version{Version: release, Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH}
	v.Revision, v.Modified = strings.CutSuffix(revision, "-dirty")
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}

// superviseName is known to Main, which starts the supervisor before anything
// else is set up.
const superviseName = "supervise"

// superviseCommand stands in the table for its help; with its one operand it
// never gets here.
func superviseCommand() *command {
	return &command{
		name:     superviseName,
		group:    groupOkstra,
		hidden:   true,
		operands: []operand{{name: "RECORD", kind: kindFile}},
		short:    "run one worker (started by backends, not by people)",
		long:     `Runs the worker of one launch record under its limits and writes its status sidecar. Backends start it; there is no reason to do so by hand.`,
		example:  `okstra supervise /path/to/prompt.md.launch.json`,
		bind: func(*pflag.FlagSet) run {
			return func(context.Context, *session, []string) error {
				return usage(superviseCommand(), "supervise takes a launch record and no flags")
			}
		},
	}
}

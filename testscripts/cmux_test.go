package testscripts

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

// cmuxApps holds the cmux of each script, by its work folder.
type cmuxApps struct{ servers sync.Map }

// start starts a cmux that belongs to this script alone and gives the script
// the environment of a lead in its only surface.
func (a *cmuxApps) start(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) <= 1, "cmuxserver [VERSION]")
	var o cmuxtest.Options
	if len(args) == 1 {
		o.Version = args[0]
	}
	server, err := cmuxtest.New(o)
	ts.Check(err)
	a.servers.Store(ts.Getenv("WORK"), server)
	ts.Defer(func() {
		if err := server.Close(); err != nil {
			ts.Logf("end cmux: %v", err)
		}
	})
	for _, kv := range server.LeadEnv() {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "PATH", "HOME", "TERM":
		default:
			ts.Setenv(name, value)
		}
	}
	ts.Setenv("PATH", filepath.Dir(server.Command())+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

func (a *cmuxApps) server(ts *testscript.TestScript) *cmuxtest.Server {
	server, ok := a.servers.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("cmuxserver comes first")
	}
	return server.(*cmuxtest.Server)
}

// look prints what a person would see: the surfaces with their sizes, whether
// the lead has the focus, the sidebar and the notifications. With a pattern it
// waits until a line of that matches.
func (a *cmuxApps) look(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) <= 1, "cmuxlook [PATTERN]")
	server := a.server(ts)
	seen := sight(server)
	if len(args) == 1 {
		re, err := regexp.Compile("(?m)" + args[0])
		ts.Check(err)
		until(ts, args[0]+" in cmux", func() (bool, string) {
			seen = sight(server)
			return re.MatchString(seen), seen
		})
	}
	_, err := ts.Stdout().Write([]byte(seen))
	ts.Check(err)
}

func sight(server *cmuxtest.Server) string {
	var b strings.Builder
	lead := server.Lead()
	for _, sf := range server.Surfaces() {
		title := sf.Title
		if sf.ID == lead.ID {
			title = "lead"
		}
		fmt.Fprintf(&b, "surface %q %dx%d focused=%v\n", title, sf.Columns, sf.Rows, sf.Focused)
	}
	status, progress, log := server.Sidebar()
	for _, key := range slices.Sorted(maps.Keys(status)) {
		fmt.Fprintf(&b, "status %s: %s\n", key, status[key])
	}
	fmt.Fprintf(&b, "progress %q\n", progress)
	for _, line := range log {
		fmt.Fprintf(&b, "log %s\n", line)
	}
	for _, n := range server.Notifications() {
		fmt.Fprintf(&b, "notification %v: %v\n", n["title"], n["body"])
	}
	return b.String()
}

// lose makes cmux lose the answer of the next request of a method.
func (a *cmuxApps) lose(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 1, "cmuxlose METHOD")
	a.server(ts).Set(func(f *cmuxtest.Faults) { f.Lose = args[0] })
}

// quit ends the application with everything in it.
func (a *cmuxApps) quit(ts *testscript.TestScript, neg bool, args []string) {
	plainUse(ts, neg, len(args) == 0, "cmuxquit")
	ts.Check(a.server(ts).Close())
}

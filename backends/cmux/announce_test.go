package cmux_test

import (
	"strings"
	"testing"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/backends/cmux/cmuxtest"
)

func TestAnnounce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cmuxtest.Options{})
	n := backends.Notice{Run: "review@002", Text: "1 of 4 done --tab=x\n\"quoted\" | and more", Done: 1, Total: 4}
	if err := w.b.Announce(w.context(), n); err != nil {
		t.Fatal(err)
	}
	status, progress, log := w.server.Sidebar()
	if got := status["okstra-review@002"]; got != "1 of 4 done tab=x quoted and more" {
		t.Errorf("status %q", got)
	}
	if progress != "0.250" || len(log) != 1 || !strings.HasPrefix(log[0], "1 of 4 done") {
		t.Errorf("progress %q, log %q", progress, log)
	}
	if n := len(w.server.Notifications()); n != 0 {
		t.Errorf("%d notifications", n)
	}

	if err := w.b.Announce(w.context(), backends.Notice{Run: "review@002", Text: "ended", Level: "success", Alert: true, Ended: true}); err != nil {
		t.Fatal(err)
	}
	status, progress, _ = w.server.Sidebar()
	if len(status) != 0 || progress != "" {
		t.Errorf("left in the sidebar: %v, %q", status, progress)
	}
	notices := w.server.Notifications()
	if len(notices) != 1 || notices[0]["surface_id"] != w.server.Lead().ID || notices[0]["body"] != "ended" {
		t.Errorf("notifications %v", notices)
	}

	w.server.Set(func(f *cmuxtest.Faults) { f.Deny = "after" })
	if err := w.b.Announce(w.context(), n); err == nil {
		t.Error("no error where cmux refuses")
	}
}

package cmuxtest

import "time"

// Faults are what cmux was seen to do wrong, each a switch. What depends on the
// version alone (stale refs, capabilities, the reads that are limited, the last
// surface of a workspace) follows Options.Version.
type Faults struct {
	// KeepOnExit leaves a surface on the screen when its process ends.
	KeepOnExit bool
	// Abnormal is how short a life leaves the surface with an error text
	// instead of closing it. Default 250 ms; negative: never.
	Abnormal time.Duration
	// Cold gives a surface that is made in the background no terminal until
	// Show: its process does not start and reading its screen fails.
	Cold bool
	// Deny refuses every client: "before" reading, by closing the connection,
	// or "after", with a line.
	Deny string
	// Outsiders treats no client as a descendant of the application.
	Outsiders bool
	// Stuck reads requests and never answers them.
	Stuck bool

	// ListLag is how many lists leave out a surface that was just made.
	ListLag int
	// EmptyLists makes lists show nothing at all.
	EmptyLists bool
	// NullSizes leaves columns, rows and frames out.
	NullSizes bool
	// Burst is how many reads a connection may make at once; one more comes
	// every 100 ms. 0: 9 from 0.64.25 on, unlimited before.
	Burst int
	// Overloaded answers so many requests with overloaded.
	Overloaded int
	// OverloadedLine uses the older form of that answer.
	OverloadedLine bool

	// Lose carries the next request of this method out and closes the
	// connection without an answer.
	Lose string
	// LoseSilently keeps the connection open instead.
	LoseSilently bool
	// Drop closes the connection before the next request of this method.
	Drop string

	// ExitDelay is how long a closed surface stays listed.
	ExitDelay time.Duration
	// CloseKillsOther makes a close take the lead's surface with it.
	CloseKillsOther bool
	// NoHangUp tells no process that its terminal is gone, as where the signal
	// comes while a shell becomes another program.
	NoHangUp bool
	// CloseIgnored answers so many closes with OK and closes nothing.
	CloseIgnored int
	// IgnoreCommands ignores what newer versions start a surface with, and
	// lists none of it, as versions before 0.64.4 do.
	IgnoreCommands bool
	// Remote hands splits on to a remote tmux: no surface is named.
	Remote bool
	// CallerNull lets identify know no caller by its ids.
	CallerNull bool
	// Localized answers with messages in another language.
	Localized bool
	// Fail answers the method with internal_error.
	Fail string
}

func (s *Server) abnormal() time.Duration {
	if s.faults.Abnormal == 0 {
		return 250 * time.Millisecond
	}
	return s.faults.Abnormal
}

func (s *Server) burst() int {
	if s.faults.Burst == 0 && s.version.atLeast(0, 64, 25) {
		return 9
	}
	return s.faults.Burst
}

// startsCommands reports whether a split may name a command and a marker.
func (s *Server) startsCommands() bool {
	return s.version.atLeast(0, 64, 4) && !s.faults.IgnoreCommands
}

// Package backends holds the interface between the runtime and whatever shows
// workers: it starts supervisors, finds them again, shows their last lines and
// closes them. A backend never learns what a worker is, never judges one, and
// imports nothing of okstra but this package.
package backends

import (
	"context"
	"errors"
	"time"
)

// Backend answers five questions and nothing else. All calls are batched. A
// context's deadline bounds a call as a whole; a backend has shorter deadlines
// of its own for each multiplexer call.
type Backend interface {
	// Name is "process", "tmux" or "cmux".
	Name() string
	// Probe says whether the backend can be used here. It starts nothing.
	Probe(ctx context.Context) Probe
	// Start starts one supervisor per launch, in order, and returns one result
	// for each launch, in order. A failed launch has Err set and, where
	// something was made that could not be undone, a Handle as well.
	Start(ctx context.Context, launches []Launch) []Started
	// Look tells what became of handles, in order. An error, a deadline or a
	// doubt is Unknown, never Gone.
	Look(ctx context.Context, handles []Handle) []Sight
	// Adopt completes a handle that names only what a supervisor said of itself
	// (backend, tag, socket and pane, or process): it proves that the thing
	// exists and is the supervisor with that pid, marks it as okstra's own and
	// returns the whole handle. A runner that died between starting and
	// recording is mended with it.
	Adopt(ctx context.Context, h Handle) (Handle, error)
	// Capture returns up to lines last lines of what a worker's screen shows,
	// for a person. Backends without a screen return ErrNoScreen.
	Capture(ctx context.Context, h Handle, lines int) (string, error)
	// Close closes what belongs to handles after proving that it is okstra's,
	// and looks again after. Closing what is gone is success.
	Close(ctx context.Context, handles []Handle) []Closed
}

// Planner is a backend that can say beforehand where panes will stand.
type Planner interface {
	// Place describes, a line each, where n workers would be shown. It only reads.
	Place(ctx context.Context, policy Policy, n int) []string
}

// Attacher is a backend whose screens a person can attach to.
type Attacher interface {
	// AttachCommand returns the argv that shows h (or, for a zero Handle, the
	// run's server) in the caller's terminal.
	AttachCommand(ctx context.Context, h Handle) ([]string, error)
}

// Sweeper is a backend that keeps a server of its own between runs.
type Sweeper interface {
	// Sweep ends servers of okstra's own, of this project, that hold none of
	// the handles in keep, and returns what it ended, a line each.
	Sweep(ctx context.Context, keep []Handle) ([]string, error)
}

// Announcer is a backend that can show where a run stands outside its panes.
type Announcer interface {
	// Announce shows n, and takes it away again when n.Ended is set. It is a
	// courtesy: a caller may drop the error, and nothing depends on it.
	Announce(ctx context.Context, n Notice) error
}

// Notice is where a run stands, for a person.
type Notice struct {
	Run   string // "review@002": one entry per run
	Text  string // one line: "3 of 8 completed, 1 failed"
	Done  int    // workers that ended
	Total int    // workers of the run; 0 shows no progress
	Level string // info, success, warning or error; empty is info
	Alert bool   // somebody is wanted: a gate waits, or the run ended
	Ended bool   // the entry is taken away
}

// ErrNotThere is returned by Adopt where nothing of the handle was found, and
// that was seen. Any other error of Adopt means that it is not known.
var ErrNotThere = errors.New("nothing of this launch was found")

// ErrNoScreen is returned by Capture of a backend without screens.
var ErrNoScreen = errors.New("this backend shows no screen; read the log")

// ErrUnanswered is wrapped by a Started.Err where the answer of a call was
// lost, so that a supervisor may have been started all the same. Every other
// error means that none was.
var ErrUnanswered = errors.New("the call was not answered; something may have been started")

// Probe is what was found of a backend.
type Probe struct {
	Available bool
	Found     string // version and place, or what is missing
	Hint      string // what to install or start
}

// Launch is one supervisor to start: Command is the whole argv, of which the
// last word is a path that okstra made. Nothing else may be passed to it.
type Launch struct {
	Command []string
	Label   string // for people, already reduced to [A-Za-z0-9 ._-]
	Tag     string // identity: [A-Za-z0-9_.-]
	Title   string // pane title, free text; the backend must make it harmless
	Policy  Policy
	// Beside are the handles of this run's panes that are still on the screen.
	Beside []Handle
}

// Policy is the pane policy, sizes in cells.
type Policy struct {
	Placement  string // beside-lead, window, session
	Layout     string // tiled, columns, rows
	LeadShare  int    // percent of the lead's window that the lead keeps
	MinColumns int
	MinRows    int
	PerWindow  int
}

// Handle finds a started supervisor again. It is recorded as it is; fields
// that a backend does not use stay empty.
type Handle struct {
	Backend     string `json:"backend"`
	Tag         string `json:"tag"`
	Socket      string `json:"socket,omitempty"`      // of the multiplexer's server
	ServerPID   int    `json:"serverPid,omitempty"`   // its identity
	ServerStart string `json:"serverStart,omitempty"` // as the server reports it
	Window      string `json:"window,omitempty"`
	Pane        string `json:"pane,omitempty"` // %N, or a cmux surface id
	Workspace   string `json:"workspace,omitempty"`
	PID         int    `json:"pid,omitempty"` // process backend: the supervisor
	PIDStart    int64  `json:"pidStart,omitempty"`
	Own         bool   `json:"own,omitempty"` // in a server or window of okstra's own
}

// Shown reports whether there may be something of h to close: a pane, or what
// a call made whose answer was lost, and which its server knows by the tag.
func (h Handle) Shown() bool { return h.Pane != "" || h.Socket != "" }

// Started is the outcome of one launch.
type Started struct {
	Handle Handle
	Err    error
	Note   string // e.g. that the pane went to a window of okstra's own, and why
}

// Presence is what became of a handle. The zero value is invalid.
type Presence string

const (
	Alive   Presence = "alive"   // what Start made is still there
	Gone    Presence = "gone"    // it is not, and that was seen
	Unknown Presence = "unknown" // it could not be asked
)

// Sight is one answer of Look.
type Sight struct {
	Presence Presence
	Detail   string // why unknown, or where it is
	// Exited is set with Alive where the screen still stands but its process
	// has ended: there is something to close, and nothing that works.
	Exited bool
}

// Closed is one answer of Close.
type Closed struct {
	Err error // nil: it is gone, and that was seen
	// Refused is set where the thing was not provably okstra's and was left.
	Refused bool
}

// CallTimeout bounds one multiplexer call: a stopped server hangs its clients
// for ever.
const CallTimeout = 10 * time.Second

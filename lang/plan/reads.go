package plan

import "slices"

// What phase order is about.
const (
	taskImplementation = "implementation"
	roleExecutor       = "executor"
	roleVerifier       = "verifier"
)

// Reads names the rounds whose results a round works on: those that its after
// names and, for a verifier's round of an implementation, the executors' rounds
// before it, named or not. What one of them does again makes the round outdated.
func (p *Plan) Reads(r *Round) []string {
	out := slices.Clone(r.After)
	if p.Run.TaskType != taskImplementation || !hasRole(r, roleVerifier) {
		return out
	}
	for i := range p.Rounds {
		if up := &p.Rounds[i]; up.Index < r.Index && hasRole(up, roleExecutor) && !slices.Contains(out, up.Name) {
			out = append(out, up.Name)
		}
	}
	return out
}

func hasRole(r *Round, role string) bool {
	return slices.ContainsFunc(r.Workers, func(w Worker) bool { return w.Role == role })
}

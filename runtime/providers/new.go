package providers

import (
	"fmt"

	"github.com/okstra/okstra/lang/plan"
)

// New returns a stream for a worker's output format. An error names a format
// that is not one of plan's, and there is no stream then.
func New(format plan.OutputFormat) (Stream, error) {
	switch format {
	case plan.OutputText:
		return &textStream{}, nil
	case plan.OutputClaudeStream:
		return &recordStream{records: newClaude()}, nil
	case plan.OutputCodexStream:
		return &recordStream{records: newCodex()}, nil
	case plan.OutputGeminiStream:
		return &recordStream{records: newGemini()}, nil
	}
	return nil, fmt.Errorf("read worker output: no output format %q", format)
}

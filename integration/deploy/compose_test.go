package deploy

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// composeFile is what this test looks at.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Healthcheck struct{ Test []string }
		Volumes     []any
		Grace       string `json:"stop_grace_period"`
	}
}

// TestCompose: docker-compose takes the file, and what it makes of it fits the
// proxy and Redis.
func TestCompose(t *testing.T) {
	tool, err := exec.LookPath("docker-compose")
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip("NOT RUN, this machine lacks docker-compose")
	}
	cmd := exec.Command(tool, "-f", "compose.yaml", "config")
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker-compose config: %v\n%s", err, errs.String())
	}
	var file composeFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	proxy := file.Services["proxy"]
	for master := range strings.SplitSeq(proxy.Environment["REDLOCK_MASTERS"], ",") {
		name := strings.TrimSuffix(master, ":6379")
		redis, known := file.Services[name]
		if !known || len(redis.Healthcheck.Test) == 0 || len(redis.Volumes) != 1 || len(redis.Command) == 0 || redis.Command[0] != "redis-server" {
			t.Fatalf("%s is no master with a health check and a volume: %+v", name, redis)
		}
		checkKeepsEveryWrite(t, redis.Command[1:])
	}
	grace, err := time.ParseDuration(proxy.Grace)
	if err != nil {
		t.Fatal(err)
	}
	checkDrainFits(t, proxy.Environment["REDLOCK_DRAIN_TIME"], grace)
	checkSettings(t, proxy.Environment)
}

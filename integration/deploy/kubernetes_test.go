package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the types that the manifests may be of, as Kubernetes defines them.
var kinds = map[string]func() any{
	"v1 ConfigMap":                       func() any { return new(corev1.ConfigMap) },
	"v1 Service":                         func() any { return new(corev1.Service) },
	"apps/v1 Deployment":                 func() any { return new(appsv1.Deployment) },
	"apps/v1 StatefulSet":                func() any { return new(appsv1.StatefulSet) },
	"policy/v1 PodDisruptionBudget":      func() any { return new(policyv1.PodDisruptionBudget) },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networkingv1.NetworkPolicy) },
}

// manifests reads them all; what Kubernetes has no field for is an error.
func manifests(t *testing.T) (all []any) {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var meta struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal(doc, &meta); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			kind, known := kinds[meta.APIVersion+" "+meta.Kind]
			if !known {
				t.Fatalf("%s: %q %q is not among the kinds of this test", file, meta.APIVersion, meta.Kind)
			}
			object := kind()
			if err := yaml.UnmarshalStrict(doc, object); err != nil {
				t.Errorf("%s: %s: %v", file, meta.Kind, err)
			}
			all = append(all, object)
		}
	}
	return all
}

// of returns the only manifest of a type, with this name.
func of[T interface{ GetName() string }](t *testing.T, all []any, name string) (found T) {
	t.Helper()
	for _, object := range all {
		if o, ok := object.(T); ok && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("there is no %T %s", found, name)
	return found
}

func selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// TestManifestsFitTogether: selectors select, probes ask ports that there are,
// the proxy is told of every master, and there is time enough to drain.
func TestManifestsFitTogether(t *testing.T) {
	all := manifests(t)
	masters := of[*appsv1.StatefulSet](t, all, "redlock-redis")
	proxies := of[*appsv1.Deployment](t, all, "redlock-proxy")
	for name, pod := range map[string]corev1.PodTemplateSpec{"redlock-redis": masters.Spec.Template, "redlock-proxy": proxies.Spec.Template} {
		service := of[*corev1.Service](t, all, name)
		budget := of[*policyv1.PodDisruptionBudget](t, all, name)
		if !selects(service.Spec.Selector, pod.Labels) || !selects(budget.Spec.Selector.MatchLabels, pod.Labels) {
			t.Errorf("the service or the disruption budget %s does not select its pods", name)
		}
		checkHardened(t, name, pod.Spec)
		checkProbes(t, name, pod.Spec.Containers[0])
	}
	if !selects(masters.Spec.Selector.MatchLabels, masters.Spec.Template.Labels) || !selects(proxies.Spec.Selector.MatchLabels, proxies.Spec.Template.Labels) {
		t.Error("a selector does not select its own pods")
	}
	from := of[*networkingv1.NetworkPolicy](t, all, "redlock-redis").Spec.Ingress[0].From[0].PodSelector
	if !selects(from.MatchLabels, proxies.Spec.Template.Labels) {
		t.Error("the network policy lets no proxy at the masters")
	}
	env := environment(proxies.Spec.Template.Spec.Containers[0])
	var want []string
	for i := range *masters.Spec.Replicas {
		want = append(want, masters.Name+"-"+string('0'+rune(i))+"."+masters.Spec.ServiceName+":6379")
	}
	if got := strings.Split(env["REDLOCK_MASTERS"], ","); !slices.Equal(got, want) {
		t.Errorf("REDLOCK_MASTERS is %q, want %q", got, want)
	}
	checkDrainFits(t, env["REDLOCK_DRAIN_TIME"], time.Duration(*proxies.Spec.Template.Spec.TerminationGracePeriodSeconds)*time.Second)
	checkSettings(t, env)
}

func environment(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, one := range c.Env {
		env[one.Name] = one.Value
	}
	return env
}

func checkHardened(t *testing.T, name string, pod corev1.PodSpec) {
	t.Helper()
	c := pod.Containers[0].SecurityContext
	switch {
	case !*pod.SecurityContext.RunAsNonRoot, *c.AllowPrivilegeEscalation, !*c.ReadOnlyRootFilesystem,
		!slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}),
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault,
		*pod.AutomountServiceAccountToken:
		t.Errorf("%s may do more than it has to", name)
	}
	if len(pod.TopologySpreadConstraints) == 0 {
		t.Errorf("%s is not spread", name)
	}
}

// checkProbes: what a probe asks by name is a port of the container.
func checkProbes(t *testing.T, name string, c corev1.Container) {
	t.Helper()
	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
	}
	for what, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		switch {
		case probe == nil:
			t.Errorf("%s has no %s probe", name, what)
		case probe.HTTPGet != nil && !ports[probe.HTTPGet.Port.String()], probe.TCPSocket != nil && !ports[probe.TCPSocket.Port.String()]:
			t.Errorf("the %s probe of %s asks a port that there is not", what, name)
		}
	}
}

// TestMastersKeepEveryWrite: a real redis-server takes the configuration, and
// has the settings by which a master votes at once after a restart.
func TestMastersKeepEveryWrite(t *testing.T) {
	conf := of[*corev1.ConfigMap](t, manifests(t), "redlock-redis").Data["redis.conf"]
	file := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	checkKeepsEveryWrite(t, []string{file})
}

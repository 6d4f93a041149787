// SPDX-License-Identifier: Apache-2.0

// The oracle: kube-scheduler's own filter and score plugins, asked about small clusters. Each line of
// standard input is a case {nodes, pods, namespaces, pod, candidates, claims, volumes, classes, limits}; each line of standard output says
// which nodes every filter lets the pod have, and the normalised scores of the candidates. The
// comparer (src/testing/oracle, oracle_compare.cc) draws the cases and holds our own answers beside these.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
)

type question struct {
	Nodes      []*v1.Node      `json:"nodes"`
	Pods       []*v1.Pod       `json:"pods"` // bound
	Namespaces []*v1.Namespace `json:"namespaces"`
	Pod        *v1.Pod         `json:"pod"`
	Candidates []string        `json:"candidates"` // that are scored

	Claims  []*v1.PersistentVolumeClaim `json:"claims"`
	Volumes []*v1.PersistentVolume      `json:"volumes"`
	Classes []*storagev1.StorageClass   `json:"classes"`
	Limits  []*storagev1.CSINode        `json:"limits"`
}

// A score is absent when its plugin has nothing to say about the pod.
type answer struct {
	Feasible map[string][]string         `json:"feasible"`
	Scores   map[string]map[string]int64 `json:"scores"`
}

// What plugins ask of the framework that runs them, as far as these plugins do.
type handle struct {
	fwk.Handle
	snapshot  *cache.Snapshot
	client    clientset.Interface
	informers informers.SharedInformerFactory
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister                 { return h.snapshot }
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h *handle) Parallelizer() fwk.Parallelizer                         { return inOrder{} }
func (h *handle) SharedDRAManager() fwk.SharedDRAManager                 { return nil }
func (h *handle) ClientSet() clientset.Interface                         { return h.client }
func (h *handle) SharedCSIManager() fwk.CSIManager                       { return h }

// What kube-scheduler keeps of CSINodes beside the API's is about scaling clusters.
func (h *handle) CSINodes() fwk.CSINodeLister {
	return csiNodes{h.informers.Storage().V1().CSINodes().Lister()}
}

type csiNodes struct{ lister storagelisters.CSINodeLister }

func (c csiNodes) Get(name string) (*storagev1.CSINode, error) { return c.lister.Get(name) }
func (c csiNodes) List() ([]*storagev1.CSINode, error)         { return c.lister.List(labels.Everything()) }

// The clusters are small.
type inOrder struct{}

func (inOrder) Until(_ context.Context, pieces int, work workqueue.DoWorkPieceFunc, _ string) {
	for piece := range pieces {
		work(piece)
	}
}

// The informers never run: what a question holds is all there is.
func fill[T any](informer toolscache.SharedIndexInformer, objects []T) error {
	for _, object := range objects {
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

type maker func(ctx context.Context, h fwk.Handle, features feature.Features) (fwk.Plugin, error)

func with(args runtime.Object, make func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)) maker {
	return func(ctx context.Context, h fwk.Handle, features feature.Features) (fwk.Plugin, error) {
		return make(ctx, args, h, features)
	}
}

func fit(strategy config.ScoringStrategyType) maker {
	return with(&config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
		Type:      strategy,
		Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}},
	}}, noderesources.NewFit)
}

var (
	affinity = with(&config.NodeAffinityArgs{}, nodeaffinity.New)
	taints   = with(nil, tainttoleration.New)
	pods     = with(&config.InterPodAffinityArgs{HardPodAffinityWeight: 1}, interpodaffinity.New)
	spread   = with(&config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}, podtopologyspread.New)

	filters = map[string]maker{
		"NodeUnschedulable": with(nil, nodeunschedulable.New),
		"NodeAffinity":      affinity,
		"TaintToleration":   taints,
		"NodePorts":         with(nil, nodeports.New),
		"NodeResourcesFit":  fit(config.LeastAllocated),
		"InterPodAffinity":  pods,
		"PodTopologySpread": spread,
	}
	// What claims have to say, in several plugins: a node is for a pod when it is for all of them.
	volumes = []maker{
		with(&config.VolumeBindingArgs{BindTimeoutSeconds: 600}, volumebinding.New),
		with(nil, volumezone.New),
		with(nil, volumerestrictions.New),
		with(nil, nodevolumelimits.NewCSI),
	}
	scorers = map[string]maker{
		"NodeAffinity":      affinity,
		"TaintToleration":   taints,
		"InterPodAffinity":  pods,
		"PodTopologySpread": spread,
		"LeastAllocated":    fit(config.LeastAllocated),
		"MostAllocated":     fit(config.MostAllocated),
		"BalancedAllocation": with(&config.NodeResourcesBalancedAllocationArgs{
			Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}},
		}, noderesources.NewBalancedAllocation),
	}
)

func feasible(ctx context.Context, plugin fwk.Plugin, pod *v1.Pod, nodes []fwk.NodeInfo) ([]string, error) {
	names := []string{}
	state := framework.NewCycleState()
	skipped := false
	var only *fwk.PreFilterResult
	if first, ok := plugin.(fwk.PreFilterPlugin); ok {
		result, status := first.PreFilter(ctx, state, pod, nodes)
		if status.IsRejected() {
			return names, nil
		}
		if !status.IsSuccess() && !status.IsSkip() {
			return nil, status.AsError()
		}
		skipped, only = status.IsSkip(), result
	}
	for _, node := range nodes {
		name := node.Node().Name
		if only != nil && !only.AllNodes() && !only.NodeNames.Has(name) {
			continue
		}
		if !skipped {
			status := plugin.(fwk.FilterPlugin).Filter(ctx, state, pod, node)
			if status.Code() == fwk.Error {
				return nil, status.AsError()
			}
			if !status.IsSuccess() {
				continue
			}
		}
		names = append(names, name)
	}
	return names, nil
}

func scores(ctx context.Context, plugin fwk.Plugin, pod *v1.Pod, nodes []fwk.NodeInfo) (map[string]int64, error) {
	state := framework.NewCycleState()
	if first, ok := plugin.(fwk.PreScorePlugin); ok {
		status := first.PreScore(ctx, state, pod, nodes)
		if status.IsSkip() {
			return nil, nil
		}
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	scorer := plugin.(fwk.ScorePlugin)
	list := make(fwk.NodeScoreList, 0, len(nodes))
	for _, node := range nodes {
		score, status := scorer.Score(ctx, state, pod, node)
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		list = append(list, fwk.NodeScore{Name: node.Node().Name, Score: score})
	}
	if last := scorer.ScoreExtensions(); last != nil {
		if status := last.NormalizeScore(ctx, state, pod, list); !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	byName := map[string]int64{}
	for _, score := range list {
		byName[score.Name] = score.Score
	}
	return byName, nil
}

func ask(ctx context.Context, features feature.Features, line []byte) (*answer, error) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	client := fake.NewClientset()
	h := &handle{
		snapshot:  cache.NewSnapshot(q.Pods, q.Nodes),
		client:    client,
		informers: informers.NewSharedInformerFactory(client, 0),
	}
	core, storage := h.informers.Core().V1(), h.informers.Storage().V1()
	if err := errors.Join(
		fill(core.Namespaces().Informer(), q.Namespaces),
		fill(core.PersistentVolumeClaims().Informer(), q.Claims),
		fill(core.PersistentVolumes().Informer(), q.Volumes),
		fill(storage.StorageClasses().Informer(), q.Classes),
		fill(storage.CSINodes().Informer(), q.Limits),
	); err != nil {
		return nil, err
	}
	nodes, err := h.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	candidates := make([]fwk.NodeInfo, 0, len(q.Candidates))
	for _, name := range q.Candidates {
		node, err := h.snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, node)
	}
	a := &answer{Feasible: map[string][]string{}, Scores: map[string]map[string]int64{}}
	for name, make := range filters {
		plugin, err := make(ctx, h, features)
		if err != nil {
			return nil, err
		}
		if a.Feasible[name], err = feasible(ctx, plugin, q.Pod, nodes); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, make := range volumes {
		// What one refuses everywhere makes others err.
		if i > 0 && len(a.Feasible["Volumes"]) == 0 {
			break
		}
		plugin, err := make(ctx, h, features)
		if err != nil {
			return nil, err
		}
		names, err := feasible(ctx, plugin, q.Pod, nodes)
		if err != nil {
			return nil, fmt.Errorf("volumes: %w", err)
		}
		if i == 0 {
			a.Feasible["Volumes"] = names
		} else {
			a.Feasible["Volumes"] = slices.DeleteFunc(a.Feasible["Volumes"], func(name string) bool { return !slices.Contains(names, name) })
		}
	}
	for name, make := range scorers {
		plugin, err := make(ctx, h, features)
		if err != nil {
			return nil, err
		}
		given, err := scores(ctx, plugin, q.Pod, candidates)
		if err != nil {
			return nil, fmt.Errorf("score of %s: %w", name, err)
		}
		if given != nil {
			a.Scores[name] = given
		}
	}
	return a, nil
}

func main() {
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	features.EnableDRAExtendedResource = false // no claims here
	ctx := klog.NewContext(context.Background(), klog.Background())
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			a, failure := ask(ctx, features, line)
			if failure != nil {
				fmt.Fprintln(os.Stderr, "oracle:", failure)
				os.Exit(1)
			}
			if err := out.Encode(a); err != nil {
				os.Exit(1)
			}
		}
		if err != nil {
			return
		}
	}
}

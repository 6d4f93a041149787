// SPDX-License-Identifier: Apache-2.0
// What every watch event costs before the cache sees it.
#include <benchmark/benchmark.h>

#include <string>

#include "api/json.h"
#include "api/pod_requests.h"
#include "api/quantity.h"

namespace {

using namespace sky::api;

void QuantityParse(benchmark::State& state) {
  static constexpr std::string_view kTexts[] = {"8", "500m", "64Gi", "1536Mi", "1.5", "100e6"};
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(Quantity::Parse(kTexts[i++ % std::size(kTexts)]));
}
BENCHMARK(QuantityParse);

// Ten thousand digits, and exponents that no number has.
void QuantityParseWorst(benchmark::State& state) {
  const std::string digits(10'000, '9');
  const std::string texts[] = {digits, "0." + digits + "Gi", "1e" + digits, "2E6024865272343"};
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(Quantity::Parse(texts[i++ % std::size(texts)]));
}
BENCHMARK(QuantityParseWorst);

void QuantityPrint(benchmark::State& state) {
  const Quantity quantity = Quantity::Units(int64_t{64} << 30, Quantity::Format::kBinarySI);
  for (auto _ : state) benchmark::DoNotOptimize(quantity.ToString());
}
BENCHMARK(QuantityPrint);

// A worker of a training job as an API server sends it, 32 members in its spec and status, and with
// what nobody here reads: managed fields, environment, mounts.
const std::string& WorkerJson() {
  static const std::string kJson = R"json({
"apiVersion":"v1","kind":"Pod","metadata":{"name":"train-worker-17","generateName":"train-worker-",
"namespace":"research","uid":"3f0c7c1e-5d0b-4a5e-9a55-0b1f6c8e2d11","resourceVersion":"1048576","generation":1,
"creationTimestamp":"2026-01-01T08:15:30Z","labels":{"app":"train","batch.kubernetes.io/job-completion-index":"17",
"job-name":"train","pod-template-hash":"6d4b75cb6d","team":"research"},
"annotations":{"scheduling.infini-ai.com/group-name":"train","scheduling.infini-ai.com/task-role":"worker",
"k8s.v1.cni.cncf.io/networks":"roce-0,roce-1"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",
"name":"train","uid":"9f1b0f9e-0f5f-4f0b-8f0e-6a5f4c3b2a10","controller":true,"blockOwnerDeletion":true}],
"finalizers":["batch.kubernetes.io/job-tracking"],"managedFields":[{"manager":"kube-controller-manager",
"operation":"Update","apiVersion":"v1","time":"2026-01-01T08:15:30Z","fieldsType":"FieldsV1",
"fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:scheduling.infini-ai.com/group-name":{}},"f:labels":{".":{},
"f:app":{},"f:job-name":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"worker\"}":{".":{},"f:image":{},"f:name":{},
"f:resources":{".":{},"f:limits":{},"f:requests":{}}}}}}}]},
"spec":{"schedulerName":"sky-scheduler","priorityClassName":"high","priority":1000,"preemptionPolicy":"Never",
"restartPolicy":"OnFailure","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","hostNetwork":false,
"enableServiceLinks":true,"serviceAccountName":"default","securityContext":{},"nodeSelector":{"gpu":"a100"},
"tolerations":[{"key":"gpu","operator":"Equal","value":"a100","effect":"NoSchedule"},
{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}]}}},
"initContainers":[{"name":"fetch","image":"registry.local/fetch:3","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],
"containers":[{"name":"worker","image":"registry.local/train:1.7","imagePullPolicy":"IfNotPresent",
"command":["torchrun","--nnodes=64","train.py"],"env":[{"name":"NCCL_DEBUG","value":"WARN"},
{"name":"RANK","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.labels['rank']"}}}],
"ports":[{"containerPort":29500,"protocol":"TCP"}],"resources":{
"limits":{"nvidia.com/gpu":"8","rdma/hca":"8","cpu":"96","memory":"1Ti"},
"requests":{"nvidia.com/gpu":"8","rdma/hca":"8","cpu":"96","memory":"1Ti"}},
"volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"shm","mountPath":"/dev/shm"}]}],
"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"train-data"}},
{"name":"shm","emptyDir":{"medium":"Memory","sizeLimit":"64Gi"}}]},
"status":{"phase":"Pending","qosClass":"Guaranteed","conditions":[{"type":"PodScheduled","status":"False",
"lastProbeTime":null,"lastTransitionTime":"2026-01-01T08:15:31Z","reason":"Unschedulable",
"message":"0/8 nodes hold 64 workers under one switch"}]}})json";
  return kJson;
}

void PodDecode(benchmark::State& state) {
  const std::string& json = WorkerJson();
  if (!Decode<Pod>(json)) state.SkipWithError("the pod does not decode");
  for (auto _ : state) benchmark::DoNotOptimize(Decode<Pod>(json));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(json.size()));
}
BENCHMARK(PodDecode);

void PodEncode(benchmark::State& state) {
  const auto pod = Decode<Pod>(WorkerJson());
  if (!pod) return state.SkipWithError("the pod does not decode");
  for (auto _ : state) benchmark::DoNotOptimize(Encode(*pod));
}
BENCHMARK(PodEncode);

void PodRequests(benchmark::State& state) {
  const auto pod = Decode<Pod>(WorkerJson());
  if (!pod) return state.SkipWithError("the pod does not decode");
  for (auto _ : state) benchmark::DoNotOptimize(PodRequests(*pod));
}
BENCHMARK(PodRequests);

}  // namespace

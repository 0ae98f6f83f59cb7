"""python/tests/test_grpc.py: clients of gRPC for Python, which are Google's, call `rankd serve`; docs/grpc.md begins with one."""
import contextlib
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from concurrent import futures
from pathlib import Path

from support import RANKD, REPOSITORY, ProjectTest, rankd, skip_without

skip_without("grpc", "grpc_tools", "grpc_health", "grpc_reflection", "google.protobuf")

import grpc  # noqa: E402
from google.protobuf.descriptor_pool import DescriptorPool  # noqa: E402
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase  # noqa: E402
from grpc_tools import protoc  # noqa: E402

PLAN = "home_feed"

# What a client of a model server needs of the Open Inference Protocol V2, open_inference_grpc.proto.
INFERENCE = """
syntax = "proto3";
package inference;
service GRPCInferenceService {
  rpc ServerReady(ServerReadyRequest) returns (ServerReadyResponse);
  rpc ModelInfer(ModelInferRequest) returns (ModelInferResponse);
}
message ServerReadyRequest {}
message ServerReadyResponse { bool ready = 1; }
message InferTensorContents { repeated float fp32_contents = 6; repeated double fp64_contents = 7; }
message ModelInferRequest {
  message InferInputTensor {
    string name = 1;
    string datatype = 2;
    repeated int64 shape = 3;
    InferTensorContents contents = 5;
  }
  string model_name = 1;
  repeated InferInputTensor inputs = 5;
}
message ModelInferResponse {
  message InferOutputTensor {
    string name = 1;
    string datatype = 2;
    repeated int64 shape = 3;
    InferTensorContents contents = 5;
  }
  string model_name = 1;
  repeated InferOutputTensor outputs = 5;
  repeated bytes raw_output_contents = 6;
}
"""


class Calls(ProjectTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        protoc.main(["protoc", f"-I{REPOSITORY / 'packaging'}", f"--python_out={cls.scratch}",
                     f"--grpc_python_out={cls.scratch}", "rankd.proto"])
        sys.path.insert(0, str(cls.scratch))
        cls.addClassCleanup(sys.path.remove, str(cls.scratch))
        server = subprocess.Popen([RANKD, "serve", "--project", cls.demo, "--listen", "127.0.0.1:0"],
                                  stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(server.stdout.close)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.terminate)
        cls.address = re.search(r"http://(\S+)", server.stdout.readline()).group(1)

    def setUp(self):
        import rankd_pb2
        import rankd_pb2_grpc

        self.messages = rankd_pb2
        self.channel = grpc.insecure_channel(self.address)
        self.addCleanup(self.channel.close)
        self.ranking = rankd_pb2_grpc.RankingStub(self.channel)

    def request(self, **fields):
        return self.messages.RankRequest(**{"plan": PLAN, "user_id": self.messages.Id(integer=42), **fields})

    def by_http(self, request):
        body = json.dumps(request, separators=(",", ":")).encode()
        call = urllib.request.Request(f"http://{self.address}/v1/rank", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(call) as answer:
            return json.load(answer)

    def test_the_example_of_the_page_runs(self):
        page = (REPOSITORY / "docs/grpc.md").read_text()
        code = re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code.replace("127.0.0.1:8080", self.address), {})
        expected = self.by_http({"user_id": 42, "plan": PLAN})["candidates"]
        self.assertEqual(said.getvalue(), "".join(f"{each['id']} {each['fields']['country']}\n" for each in expected))

    def test_answers_equal_those_of_http(self):
        for compression in (None, grpc.Compression.Gzip):
            answer = self.ranking.Rank(self.request(), timeout=60, compression=compression)
            expected = self.by_http({"user_id": 42, "plan": PLAN})
            self.assertEqual(answer.engine_request_id, expected["engine_request_id"])
            self.assertEqual(list(answer.candidates.ids), [each["id"] for each in expected["candidates"]])
            for name, column in answer.candidates.columns.items():
                for field in ("integers", "numbers", "texts", "flags"):
                    if values := getattr(column, field):
                        shown = {at: each for at, each in enumerate(values) if at not in column.nulls}
                        self.assertEqual(shown, {at: each["fields"][name] for at, each in enumerate(expected["candidates"])
                                                 if name in each["fields"]})

    def test_each_answer_of_a_batch_is_streamed(self):
        batch = self.messages.RankBatchRequest(requests=[self.request(), self.request(plan="none")])
        answers = {each.index: each for each in self.ranking.RankBatch(batch, timeout=60)}
        self.assertEqual(len(answers[0].response.candidates.ids), len(self.by_http({"user_id": 42, "plan": PLAN})["candidates"]))
        self.assertEqual(answers[1].error.code, "unknown_plan")

    def test_the_health_is_serving(self):
        health = health_pb2_grpc.HealthStub(self.channel)
        serving = health_pb2.HealthCheckResponse.SERVING
        for service in ("", "rankd.v1.Ranking"):
            asked = health_pb2.HealthCheckRequest(service=service)
            self.assertEqual(health.Check(asked, timeout=60).status, serving)
            watched = health.Watch(asked, timeout=60)
            self.assertEqual(next(watched).status, serving)
            watched.cancel()
        with self.assertRaises(grpc.RpcError) as caught:
            health.Check(health_pb2.HealthCheckRequest(service="other"), timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_reflection_describes_the_contract(self):
        files = ProtoReflectionDescriptorDatabase(self.channel)
        self.assertIn("rankd.v1.Ranking", files.get_services())
        service = DescriptorPool(files).FindServiceByName("rankd.v1.Ranking")
        self.assertEqual([each.name for each in service.methods], ["Rank", "RankBatch", "Events"])
        self.assertEqual(service.methods_by_name["Rank"].input_type.fields_by_name["plan"].number, 3)
        with self.assertRaises(KeyError):
            DescriptorPool(files).FindServiceByName("rankd.v1.Other")

    def test_refusals_of_http_are_answers_of_grpc(self):
        for options, metadata, code in (
            ([("grpc.default_authority", "evil.example")], (), grpc.StatusCode.PERMISSION_DENIED),
            ([], (("x", "y" * 20_000),), grpc.StatusCode.RESOURCE_EXHAUSTED),
        ):
            with grpc.insecure_channel(self.address, options) as channel, self.assertRaises(grpc.RpcError) as caught:
                channel.unary_unary("/rankd.v1.Ranking/Rank")(b"", timeout=60, metadata=metadata)
            self.assertEqual(caught.exception.code(), code, caught.exception.details())

    def test_errors_have_their_status_and_details(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.ranking.Rank(self.request(plan="none"), timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        self.assertIn("no plan is called `none`", caught.exception.details())
        details = dict(caught.exception.trailing_metadata())["grpc-status-details-bin"]
        self.assertIn(b"type.googleapis.com/rankd.v1.Error", details)
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/rankd.v1.Ranking/Other")(b"", timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        with self.assertRaises(grpc.RpcError) as caught:
            self.channel.unary_unary("/other.Service/Rank")(b"", timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        with self.assertRaises(grpc.RpcError) as caught:
            self.ranking.Events(self.messages.EventsRequest(), timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)


class RemoteModels(unittest.TestCase):
    """rankd calls a model server of grpcio, in place of examples/remote_model/model_server.py."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="rankd_models_")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = Path(scratch.name)
        (cls.scratch / "inference.proto").write_text(INFERENCE)
        protoc.main(["protoc", f"-I{cls.scratch}", f"--python_out={cls.scratch}", f"--grpc_python_out={cls.scratch}",
                     "inference.proto"])
        sys.path.insert(0, str(cls.scratch))
        cls.addClassCleanup(sys.path.remove, str(cls.scratch))

    def project(self, port, protocol):
        folder = self.scratch / protocol
        shutil.copytree(REPOSITORY / "examples/remote_model", folder, dirs_exist_ok=True)
        endpoints = folder / "registry/endpoints.dev.toml"
        text = endpoints.read_text().replace("port = 8801", f'port = {port}, protocol = "{protocol}"')
        endpoints.write_text(text.replace("request_timeout_ms = 500", "request_timeout_ms = 60000"))
        return folder

    def ranked(self, project):
        answer = rankd("rank", "--project", project, "--request", project / "request.json")
        return json.loads(answer)["candidates"]

    def serve(self, answer_raw):
        import inference_pb2 as messages
        import inference_pb2_grpc as service

        class Models(service.GRPCInferenceServiceServicer):
            def ServerReady(self, request, context):
                return messages.ServerReadyResponse(ready=True)

            def ModelInfer(self, request, context):
                if request.model_name != "ctr" or context.time_remaining() is None:
                    context.abort(grpc.StatusCode.NOT_FOUND, "there is one model here: ctr")
                values = iter(request.inputs[0].contents.fp64_contents)
                scores = [0.1 * rating - 0.01 * price for price, rating in zip(values, values)]
                answer = messages.ModelInferResponse(model_name="ctr")
                output = answer.outputs.add(name="ctr", datatype="FP64", shape=[len(scores), 1])
                if answer_raw:
                    answer.raw_output_contents.append(struct.pack(f"<{len(scores)}d", *scores))
                else:
                    output.contents.fp64_contents.extend(scores)
                return answer

        server = grpc.server(futures.ThreadPoolExecutor())
        service.add_GRPCInferenceServiceServicer_to_server(Models(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        return port

    def test_scores_equal_those_of_json(self):
        words = [sys.executable, "-B", REPOSITORY / "examples/remote_model/model_server.py", "0"]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        expected = self.ranked(self.project(port, "json"))
        self.assertGreater(len(expected), 0)
        for answer_raw in (False, True):
            project = self.project(self.serve(answer_raw), "grpc")
            self.assertEqual(self.ranked(project), expected)
            self.assertIn(b"the model server is ready", rankd("doctor", "--project", project, check=False))


if __name__ == "__main__":
    unittest.main()

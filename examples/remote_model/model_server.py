"""A server of one model, `ctr`, by the Open Inference Protocol V2: to try `core::call_remote_model` with.

    python3 model_server.py [PORT]

The score of a row is 0.1 * rating - 0.01 * price. It says on which port it listens."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Models(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200 if self.path == "/v2/health/ready" else 404, {})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v2/models/ctr/infer":
            return self.answer(404, {"error": "there is one model here: ctr"})
        tensor = asked["inputs"][0]
        rows, columns = tensor["shape"]
        if columns != 2:
            return self.answer(400, {"error": f"the model takes price and rating, not {columns} columns"})
        values = iter(tensor["data"])
        scores = [0.1 * rating - 0.01 * price for price, rating in zip(values, values)]
        output = {"name": "ctr", "shape": [rows, 1], "datatype": "FP64", "data": scores}
        self.answer(200, {"model_name": "ctr", "outputs": [output]})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8801), Models)
    print(f"models at 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()

// SPDX-License-Identifier: Apache-2.0
// Server FOLDER PORT TRANSPORT_PORT: one node of OpenSearch, until its standard input ends.
import org.codelibs.opensearch.runner.OpenSearchRunner;

public class Server {
	public static void main(String[] args) throws Exception {
		OpenSearchRunner runner = new OpenSearchRunner();
		runner.onBuild((number, settings) -> {
			settings.put("http.port", args[1]);
			settings.put("transport.port", args[2]);
			settings.put("network.host", "127.0.0.1");
			settings.put("discovery.type", "single-node");
			settings.putList("discovery.seed_hosts");
			settings.put("cluster.routing.allocation.disk.threshold_enabled", "false");
			settings.put("indices.breaker.total.use_real_memory", "false");
		});
		try {
			runner.build(OpenSearchRunner.newConfigs().basePath(args[0]).numOfNode(1).clusterName("weir-test")
					.useLogger().printOnFailure());
			System.out.println("ready");
			System.out.flush();
			while (System.in.read() >= 0)
				continue;
		} catch (Throwable e) {
			e.printStackTrace();
		}
		Runtime.getRuntime().halt(0);
	}
}

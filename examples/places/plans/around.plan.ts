import { definePlan, Key, P } from "@rankd/plan";

/** The candidates and the cities within 200 km of the user, each place once. */
export default definePlan({
  name: "around",
  build: (ctx) => {
    const keys = { latitudeKey: Key.latitude, longitudeKey: Key.longitude };
    const here = { latitude: P.user_latitude.within(-90, 90), longitude: P.user_longitude.within(-180, 180) };
    return ctx
      .candidates({ keys: [Key.latitude, Key.longitude] })
      .geo.unite({ ...keys, others: ctx.geo.cities({ ...keys, ...here, maxKm: 200 }), sameKm: 5 })
      .geo.distance({ ...keys, ...here, outKey: Key.distance_km })
      .geo.nearest({ by: Key.distance_km, count: 5, maxKm: 200 });
  },
});
